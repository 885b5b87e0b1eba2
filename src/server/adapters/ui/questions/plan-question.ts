import { isUtf8 } from 'node:buffer'
import { relative, resolve, sep } from 'node:path'
import { referencesIn } from '../../../../definition/interpolate.ts'
import { readYaml } from '../../../../definition/yaml-source.ts'
import { badProject, badRequest } from '../../../../errors.ts'
import { planRow, toSavedCase } from '../../../../evals/case-row.ts'
import { CASES_ENDING, EVAL_FOLDER, findCaseFiles } from '../../../../evals/read-cases.ts'
import type { AgentHost } from '../../../../host/host.ts'
import { fieldsOf } from '../../../../json.ts'
import type { Redact } from '../../../../redaction/redact.ts'
import type { Tape } from '../../../../tape/file/read-tape.ts'
import { toSavedRun } from '../../../../tape/saved-tests/saved-test.ts'
import { changesOfCalled, namePlace, ownChanges, withoutOwnId } from '../../../../variants/called-changes.ts'
import { readChanges, writeChanges } from '../../../../variants/variant-text.ts'
import type { QuestionRequest } from '../../../../wire/question.ts'
import type { VariantChange } from '../../../../wire/variant.ts'
import { getAt } from '../../../../wiring/variables.ts'
import type { ServerOptions } from '../../../options/options.ts'
import { refuseSecrets } from '../variant-routes.ts'
import type { PlannedWrite, Question, ReadTarget } from './questions.ts'

type Wanted<Action extends QuestionRequest['action']> = Extract<QuestionRequest, { action: Action }>

/** A recorded run, with the bytes of its tape. */
export interface SavedTape {
  readonly tape: Tape
  readonly bytes: Uint8Array
}

/** Sources of agents that a question changes. */
export interface ChangedAgents {
  readonly host: Pick<AgentHost, 'get' | 'openVariant' | 'projectDir'>
  readonly redact: Redact
}

/** @throws HostError `OPTION_INVALID` */
export function saveTest({ run_id: runId, name }: Wanted<'save_test'>, { tape, bytes }: SavedTape): Question {
  const { testFile, tapeFile, test } = toSavedRun(tape, name)
  const writes = [tapeWrite(tapeFile, bytes, runId), { path: testFile, content: Buffer.from(test) }]
  return {
    title: `Save run ${runId} as a test`,
    async plan(read) {
      for (const { path } of writes) await refuseTaken(path, read)
      return { writes }
    },
  }
}

/** @throws HostError `OPTION_INVALID`, `TAPE_INVALID` */
export function saveCase(
  { run_id: runId, name, file }: Wanted<'save_case'>,
  { tape, bytes }: SavedTape,
  projectDir: string,
): Question {
  const saved = toSavedCase(tape, name)
  const tapePath = `${file.slice(0, file.lastIndexOf('/') + 1)}${saved.tapeFile}`
  return {
    title: `Save run ${runId} as case '${saved.id}' of ${file}`,
    async plan(read) {
      const before = await read(file)
      await refuseTaken(tapePath, read)
      const content = Buffer.concat([before ?? Buffer.of(), Buffer.from(await planRow(saved, file, projectDir))])
      return { writes: [tapeWrite(tapePath, bytes, runId), { path: file, content }] }
    },
  }
}

/** @throws HostError `OPTION_INVALID` without cases */
export function runEvals({ projectDir, agentDir }: Pick<ServerOptions, 'projectDir' | 'agentDir'>): Question {
  const toFlag = relative(projectDir, agentDir) === 'agents' ? [] : ['--agent-dir', agentDir]
  const find = () => findCaseFiles([], projectDir).map((file) => relative(projectDir, file))
  find()
  return {
    title: `Run the evals of ${EVAL_FOLDER}/*${CASES_ENDING}, which call models unless their tapes answer`,
    plan: async () => ({ writes: [], command: ['eval', ...find(), ...toFlag] }),
  }
}

/** Writes the values of a variant into the files of its agents. */
export function changeAgent(
  { agent_id: agentId, changes: given }: Wanted<'change_agent'>,
  { host, redact }: ChangedAgents,
): Question {
  const fileOf = (id: string): string => {
    const { file } = host.get(id) ?? {}
    if (file === undefined) throw badRequest(`There is no file of an agent '${id}'`)
    return relative(host.projectDir, resolve(host.projectDir, file)).split(sep).join('/')
  }
  const changes = withoutOwnId(given, agentId)
  const ids = [...new Set(changes.map(({ agent = agentId }) => agent))]
  const places = changes.map(namePlace)
  return {
    title: `Write ${places.join(', ')} into ${ids.map(fileOf).join(', ')}`,
    async plan(read) {
      const written = await Promise.all(
        ids.map(async (id) => {
          const all = id === agentId ? changes : (changesOfCalled(changes, id) ?? [])
          return writeInto(fileOf(id), ownChanges(all), read)
        }),
      )
      const escaped = written.flatMap(({ changes: own }, index) =>
        own.map((change) => (ids[index] === agentId ? change : { agent: ids[index] as string, ...change })),
      )
      refuseSecrets(escaped, redact)
      await host.openVariant(agentId, escaped)
      return { writes: written.flatMap(({ write }) => write ?? []) }
    },
  }
}

interface WrittenChanges {
  /** As they are written. */
  readonly changes: readonly VariantChange[]
  /** Undefined without changes. */
  readonly write: PlannedWrite | undefined
}

/** @throws HostError for a value that stands in another file; AgentError where the text is no agent file */
async function writeInto(path: string, changes: readonly VariantChange[], read: ReadTarget): Promise<WrittenChanges> {
  if (changes.length === 0) return { changes, write: undefined }
  const bytes = await read(path)
  if (!bytes) throw badProject(`There is no file ${path}.`)
  if (!isUtf8(bytes)) throw badProject(`${path} is not UTF-8 text. Save it as UTF-8.`)
  const text = bytes.toString()
  const { value: file } = readYaml(text)
  const modules = [fieldsOf(file).modules].flat().map(fieldsOf)
  const escaped = changes.map((change) => {
    const before = getAt(modules.find(({ id }) => id === change.module)?.config, change.path)
    if (typeof fieldsOf(before).file === 'string') throw standsElsewhere(change, String(fieldsOf(before).file))
    return typeof change.value === 'string' ? { ...change, value: escapeReferences(change.value, before) } : change
  })
  const after = writeChanges(text, escaped)
  if (after === text) throw badProject(`${path} has these values already.`)
  // Nothing but these values may differ.
  readChanges(text, after, path)
  return { changes: escaped, write: { path, content: Buffer.from(after) } }
}

function standsElsewhere(change: VariantChange, file: string) {
  return badProject(`${namePlace(change)} stands in ${file}, which other agents may share: copy the text into it.`)
}

/** A reference that the file does not have would read a variable of the environment: it is written as text. */
function escapeReferences(text: string, before: unknown): string {
  const known = typeof before === 'string' ? referencesIn(before) : []
  return text.replace(/\$\$\{|\$\{(?:[^}]*\})?/g, (found) =>
    found === '$${' || known.includes(found) ? found : `$${found}`,
  )
}

function tapeWrite(path: string, content: Uint8Array, runId: string): PlannedWrite {
  return { path, content, summary: `the tape of run ${runId}, compressed` }
}

async function refuseTaken(path: string, read: ReadTarget): Promise<void> {
  if (await read(path)) throw badProject(`${path} already exists: choose another name, or remove it.`)
}
