import { badOption } from '../../errors.ts'
import { cleanText } from '../../wire/clean-text.ts'
import { lastRunOf, type Tape, type TapedCall, type TapedRun } from '../file/read-tape.ts'
import type { JsonValue } from '../file/tape-values.ts'

/** The part of a tape that a saved test pins. */
export interface PinnedRun {
  readonly tools: readonly { readonly name: JsonValue; readonly arguments: JsonValue }[]
  readonly answer: string
  readonly end: string
}

/** A run as files of a project. */
export interface SavedRun {
  readonly name: string
  /** Relative to the project, as is that of the tape. */
  readonly testFile: string
  readonly tapeFile: string
  /** Text of the test. */
  readonly test: string
  /** Next step for a run that failed in a call, as a sentence; null for any other. */
  readonly advice: string | null
}

/** Names of files: they stand in paths and titles. */
const TEST_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/

/**
 * Returns a recorded run as a test of the project.
 *
 * @param name of the test; by default the agent and the beginning of the run's id
 * @throws HostError `OPTION_INVALID` for a name that no file may have
 */
export function toSavedRun(tape: Tape, name = nameRun(tape).replaceAll('.', '-')): SavedRun {
  if (!TEST_NAME.test(name)) {
    throw badOption(`The name of a test must be letters, digits, '-' and '_', not '${name}'.`)
  }
  return {
    name,
    testFile: `tests/${name}.test.ts`,
    tapeFile: `tests/tapes/${name}.jsonl.gz`,
    test: makeSavedTest(tape, name),
    advice: adviceFor(tape, `tests/tapes/${name}.jsonl.gz`),
  }
}

function adviceFor(tape: Tape, file: string): string | null {
  const failed = findFailedCall(tape)
  if (!failed) return null
  const { module, protocol } = failed.line
  const next =
    protocol === 'LLM'
      ? `once prompt or model are mended, record again with agent-host replay ${file} --live llm --update`
      : 'the test passes once that is mended'
  return `The run failed in a call of '${module}': ${next}.`
}

/** Names a run by its agent and the beginning of its id, in as many characters as a test and a case may have. */
export function nameRun(tape: Tape): string {
  const { head, turn } = lastRunOf(tape)
  return `${head.agent.id.slice(0, 91)}-${turn.run_id.slice(0, 8)}`
}

/** Returns the calls of tools, the answer and the end of a tape. */
export function pinsOf(tape: Tape): PinnedRun {
  const calls = tape.runs.flatMap((run) => run.calls.filter((call) => isToolCall(call, run)))
  const { end } = lastRunOf(tape)
  return {
    tools: calls.map(
      ({
        line: {
          arguments: [name = null, args = null],
        },
      }) => ({ name, arguments: args }),
    ),
    answer: end.text,
    end: end.status,
  }
}

/**
 * Returns the text of a test that replays a tape. That of a failed run calls the module of the failed call for real: it passes once the
 * module is mended.
 *
 * @param name of the test, `tests/<name>.test.ts`
 */
export function makeSavedTest(tape: Tape, name: string): string {
  const { end, head } = lastRunOf(tape)
  const file = `tests/tapes/${name}.jsonl.gz`
  const title = `${head.agent.id}: ${name}`
  const body = end.status === 'failed' ? failedBody(tape, file) : endedBody(tape, file)
  return [
    "import assert from 'node:assert/strict'",
    "import { test } from 'node:test'",
    "import { replay } from 'agent-host'",
    '',
    `// Recorded from run ${inComment(lastRunOf(tape).turn.run_id)}.`,
    `test(${quote(title)}, async () => {`,
    ...body.map((line) => (line === '' ? '' : `  ${line}`)),
    '})',
    '',
  ].join('\n')
}

function endedBody(tape: Tape, file: string): string[] {
  const { tools, answer, end } = pinsOf(tape)
  return [
    '// A changed prompt or model asks for other calls: record again with',
    `// agent-host replay ${file} --live llm --update`,
    `const { tools, answer, end, difference } = await replay(${quote(file)})`,
    'assert.equal(difference, null, difference ?? undefined)',
    `assert.deepEqual(tools, ${indent(literal(tools, 2))})`,
    `assert.equal(answer, ${quote(answer)})`,
    `assert.equal(end, ${quote(end)})`,
  ]
}

function failedBody(tape: Tape, file: string): string[] {
  const { end } = lastRunOf(tape)
  const failed = findFailedCall(tape)
  const isModel = failed?.line.protocol === 'LLM'
  const live = failed && !isModel ? [failed.line.module] : []
  const where = failed ? ` in a call of '${inComment(failed.line.module)}'` : ''
  const how = isModel
    ? [
        '// The answer of the model is part of the tape. Once prompt or model are mended, record again with',
        `// agent-host replay ${file} --live llm --update`,
      ]
    : ['// It passes once that is mended.']
  const options = live.length === 0 ? '' : `, { live: [${live.map(quote).join(', ')}] }`
  return [
    `// The run failed${where}: ${inComment(end.error ?? '')}`,
    ...how,
    `const { error, difference } = await replay(${quote(file)}${options})`,
    'assert.equal(difference, null, difference ?? undefined)',
    'assert.equal(error, null, error ?? undefined)',
  ]
}

/** The last call that failed, unless its caller went on. */
function findFailedCall(tape: Tape): TapedCall | undefined {
  const { calls } = lastRunOf(tape)
  const outer = calls.filter(({ line }) => line.within === null)
  const last = outer.at(-1)
  const outcome = last?.steps.at(-1)?.read()
  return outcome?.type === 'result' && outcome.error !== undefined ? last : undefined
}

/** Calls of the conversation, as events of a run tell them: those of a tool's own code are not among them. */
function isToolCall({ line }: TapedCall, { calls }: TapedRun): boolean {
  if (line.method !== 'executeTool' || line.protocol !== 'ToolProvider') return false
  const outer = line.within === null ? undefined : calls[line.within - 1]
  return outer === undefined || outer.line.protocol !== 'ToolProvider'
}

function quote(text: string): string {
  return `'${literal(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

/** JSON as code: shown in the order in which it is written, and with a key `__proto__` that is one. */
function literal(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent)
    .replace(
      /[\u2028\u2029]|\p{Bidi_Control}/gu,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    .replace(/(?<!\\)"__proto__":/g, '["__proto__"]:')
}

function indent(json: string): string {
  return json.replaceAll('\n', '\n  ')
}

/** One line: a comment ends with it, and what follows would be code. */
function inComment(text: string): string {
  return cleanText(text.replace(/\s+/g, ' ')).slice(0, 200)
}
