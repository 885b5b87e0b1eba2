import { join, relative, resolve, sep } from 'node:path'
import { TRACE_FOLDER } from '../../assembly/open-project.ts'
import { badOption, messageOf } from '../../errors.ts'
import { findFailed } from '../../evals/find-failed.ts'
import { loadScorers } from '../../evals/load-scorers.ts'
import { ProjectAgents } from '../../evals/project-agents.ts'
import { filterCases, findCaseFiles, readCases } from '../../evals/read-cases.ts'
import { findUnfinished, ResultFile } from '../../evals/result-file.ts'
import { type EvalOptions, type EvalProgress, nameOf, runEvals } from '../../evals/run-evals.ts'
import { ProjectCode } from '../../module/project-code.ts'
import { Prices } from '../../prices/prices.ts'
import type { Log } from '../../protocols/log.ts'
import { makeRedact, type Redact } from '../../redaction/redact.ts'
import { resolveServerOptions } from '../../server/options/options.ts'
import { memoryStorage } from '../../store/memory-storage.ts'
import { Traces } from '../../trace/traces.ts'
import type { EvalRequest, EvalResult } from '../../wire/eval-result.ts'
import { openAgents } from '../agents/open-agents.ts'

export interface PrepareOptions {
  /** Undefined goes on with the newest result that was stopped. */
  readonly request: Omit<EvalRequest, 'files' | 'only'> | undefined
  /** Runs the cases that failed in the newest result alone. */
  readonly onlyFailed: boolean
  /** Files and folders of cases (absolute). */
  readonly paths: readonly string[]
  readonly agentDir: string
  readonly concurrency: number
  readonly log: Log
}

/** An eval that can begin. */
export interface PreparedEval {
  readonly file: ResultFile
  run(signal: AbortSignal, onProgress: (progress: EvalProgress) => void): Promise<EvalResult>
}

/** @throws HostError for cases, agents or a result that cannot be read */
export async function prepareEval(wanted: PrepareOptions): Promise<PreparedEval> {
  const { agentDir, concurrency, log } = wanted
  const projectDir = process.cwd()
  const redact = makeRedact(process.env)
  const { stopped, ...chosen } = await chooseCases(wanted, projectDir)
  const scorers = await loadScorers(new ProjectCode(projectDir), projectDir)
  const plan = { ...chosen, scorers, previous: stopped?.result }
  const prices = new Prices(projectDir, log)
  await prices.refresh()
  const options: Omit<EvalOptions, 'signal' | 'onProgress' | 'traces'> = {
    projectDir,
    agents: await ProjectAgents.read(projectDir, agentDir),
    environment: process.env,
    concurrency,
    prices,
    storage: memoryStorage(),
    openProject: async () => {
      const { host, folder, close } = await openAgents(agentDir, { log })
      return { host, problems: () => folder.problems(), close }
    },
  }
  return {
    file: stopped
      ? ResultFile.continue(stopped.path, redact)
      : ResultFile.create(projectDir, nameOf(plan.request), redact),
    async run(signal, onProgress) {
      const traces = await openTraces(projectDir, redact, log)
      try {
        return await runEvals(plan, { ...options, traces, signal, onProgress })
      } finally {
        await traces?.close()
      }
    },
  }
}

/** The cases to run: those of the paths, or of a result that was stopped. */
async function chooseCases({ request: asked, onlyFailed, paths }: PrepareOptions, projectDir: string) {
  const stopped = asked ? undefined : await findUnfinished(projectDir)
  const given = stopped?.result.request.files.map((file) => resolve(projectDir, file)) ?? paths
  const base = stopped?.result.request ?? asked
  if (!base) throw badOption('There is no result to go on with: none was stopped.')
  const found = findCaseFiles(given, projectDir)
  const files = found.map((file) => relative(projectDir, file).split(sep).join('/'))
  const only = onlyFailed ? await findFailed(projectDir) : undefined
  const request: EvalRequest = stopped?.result.request ?? { ...base, files, ...(only ? { only } : {}) }
  const { cases: all, problems } = await readCases(found, projectDir)
  if (all.length === 0 && problems.length === 0) {
    throw badOption(`There are no cases in ${files.join(', ')}: a case is a line of JSON.`)
  }
  const cases = filterCases(all, request)
  if (all.length > 0 && cases.length === 0) throw badOption(describeNone(request))
  return { stopped, request, cases, problems }
}

function describeNone({ filter, only, files }: EvalRequest): string {
  const words = filter.length === 0 ? '' : ` has '${filter.join("' or '")}' in its id or as a tag`
  if (!only) return `No case${words}.`
  return `No case that failed in the latest result is in ${files.join(', ')}${words && `, and${words}`}.`
}

/** Traces in ./debug, where a development server of the project sees them too. An eval goes on without them. */
async function openTraces(projectDir: string, redact: Redact, log: Log): Promise<Traces | undefined> {
  const { debugMaxMb, serverName: server } = resolveServerOptions({})
  const options = { dir: join(projectDir, TRACE_FOLDER), maxBytes: debugMaxMb * 1024 * 1024, redact, log }
  try {
    return await Traces.open({ ...options, server, isEval: true })
  } catch (error) {
    log.warn(messageOf(error))
    return undefined
  }
}
