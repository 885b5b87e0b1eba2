import { setMaxListeners } from 'node:events'
import { basename, extname } from 'node:path'
import { AgentHost } from '../host/host.ts'
import type { Prices } from '../prices/prices.ts'
import { describeProcess } from '../process-identity.ts'
import type { StorageSource } from '../protocols/storage.ts'
import { VERSION } from '../version.ts'
import {
  EVAL_RESULT_FORMAT,
  type EvalColumn,
  type EvalProblem,
  type EvalRequest,
  type EvalResult,
  type EvalResultCase,
  type EvalRun,
} from '../wire/eval-result.ts'
import type { VariantChange } from '../wire/variant.ts'
import { type CaseRun, type CaseTraces, describeError } from './case-run.ts'
import { isSameColumn, makeColumn, withOwnName } from './columns.ts'
import { type LiveProject, LiveRuns } from './live-runs.ts'
import { chooseScorers, type LoadedScorers, type NamedScorer } from './load-scorers.ts'
import { scoreOf } from './outcomes.ts'
import type { ProjectAgents } from './project-agents.ts'
import type { EvalCase } from './read-cases.ts'
import { RunUsage } from './run-usage.ts'
import { scoreRun } from './score-run.ts'
import { TapedRuns } from './taped-runs.ts'

/** Cases and what they are run with. */
export interface EvalPlan {
  readonly request: EvalRequest
  readonly cases: readonly EvalCase[]
  /** Rows and scorers that were left out. */
  readonly problems: readonly EvalProblem[]
  readonly scorers: LoadedScorers
  /** Result to go on with: its runs are kept. */
  readonly previous?: EvalResult | undefined
}

export interface EvalOptions {
  /** Absolute. */
  readonly projectDir: string
  readonly agents: ProjectAgents
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly concurrency: number
  readonly prices: Prices
  /** Left out, the runs are not traced. */
  readonly traces?: CaseTraces | undefined
  /** Records of modules that are called for real. */
  readonly storage: StorageSource
  /** Puts the agents in service, for cases without a tape. */
  readonly openProject: () => Promise<LiveProject>
  /** Stops: what was done is kept. */
  readonly signal: AbortSignal
  /** Called at the beginning, and after each run. */
  readonly onProgress: (progress: EvalProgress) => void
}

/** State of an eval under way. */
export interface EvalProgress {
  readonly done: number
  readonly total: number
  /** The run that has just ended; undefined at the beginning. */
  readonly run: EvalRun | undefined
  /** Mean over the runs so far; null where none is judged. */
  readonly score: number | null
  /** US dollars, as far as prices are known. */
  readonly spent: number
  /** The result so far. */
  result(): EvalResult
}

/** Run that is to be made. */
interface Task {
  readonly given: EvalCase
  readonly column: number
  readonly repeat: number
  readonly scorers: readonly NamedScorer[]
}

/** Runs every case with every agent and variant, several at once, and scores what comes of it. */
export async function runEvals(plan: EvalPlan, options: EvalOptions): Promise<EvalResult> {
  // Every run and every scorer under way listens to it.
  setMaxListeners(0, options.signal)
  const evals = new Evals(plan, options)
  try {
    await evals.run()
    return evals.toResult(options.signal.aborted ? 'stopped' : 'complete')
  } finally {
    await evals.close()
  }
}

class Evals {
  readonly #plan: EvalPlan
  readonly #options: EvalOptions
  readonly #columns: EvalColumn[]
  readonly #cases: EvalCase[] = []
  readonly #problems: EvalProblem[]
  readonly #tasks: Task[] = []
  readonly #runs = new Map<string, EvalRun>()
  /** Tasks whose runs the previous result has, by column, until it is known that the agent is still the same. */
  readonly #kept = new Map<number, Task[]>()
  readonly #open: Task[] = []
  readonly #process = describeProcess()
  /** Of the runs that are judged. */
  #scoreSum = 0
  #scored = 0
  readonly #live: LiveRuns
  readonly #taped: TapedRuns
  /** Of the scorers. */
  readonly #host: AgentHost
  readonly #judging: RunUsage
  readonly #createdAt: number
  readonly #startedMs = performance.now()
  readonly #durationBefore: number
  #spent: number

  constructor(plan: EvalPlan, options: EvalOptions) {
    const { request, previous, scorers } = plan
    const { projectDir, agents, environment, storage, prices, openProject, traces } = options
    this.#plan = plan
    this.#options = options
    this.#problems = [...plan.problems, ...scorers.problems]
    this.#columns = [...(previous?.columns ?? [])]
    this.#createdAt = previous?.created_at ?? Date.now() / 1000
    this.#durationBefore = previous?.duration_ms ?? 0
    this.#spent = previous?.spent ?? 0
    this.#live = new LiveRuns(openProject, new RunUsage(prices), traces)
    this.#taped = new TapedRuns({
      projectDir,
      agents,
      live: request.live,
      environment,
      storage,
      usage: new RunUsage(prices),
      traces,
    })
    this.#host = new AgentHost({ projectDir, environment, storage })
    this.#judging = new RunUsage(prices)
    this.#host.onEvent(this.#judging.add)
    this.#host.onRunEnd(({ runId }) => {
      this.#spent += this.#judging.take(runId).cost ?? 0
    })
  }

  async run(): Promise<void> {
    for (const given of this.#plan.cases) if (await this.#addTasks(given)) this.#cases.push(given)
    this.#keepPrevious(this.#plan.previous)
    this.#tell(undefined)
    for (const task of this.#tasks) {
      if (!this.#runs.has(keyOfTask(task))) this.#open.push(task)
      else this.#kept.set(task.column, [...(this.#kept.get(task.column) ?? []), task])
    }
    const lane = async () => {
      for (let task = this.#open.shift(); task; task = this.#open.shift()) {
        if (this.#options.signal.aborted) return
        const run = await this.#runTask(task)
        if (run) {
          this.#note(run)
          this.#tell(run)
        }
      }
    }
    await Promise.all(Array.from({ length: this.#options.concurrency }, lane))
  }

  toResult(status: EvalResult['status']): EvalResult {
    const { request } = this.#plan
    const runs = this.#tasks.flatMap((task) => this.#runs.get(keyOfTask(task)) ?? [])
    return {
      eval_result: EVAL_RESULT_FORMAT,
      agent_host: VERSION,
      name: nameOf(request),
      status,
      ...(status === 'running' ? { process: this.#process } : {}),
      created_at: this.#createdAt,
      duration_ms: this.#durationBefore + performance.now() - this.#startedMs,
      spent: this.#spent,
      request,
      columns: this.#columns,
      cases: this.#cases.map(toResultCase),
      runs,
      problems: this.#problems,
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#live.close(), this.#host.close(0)])
  }

  /** @returns false for a case that cannot be run */
  async #addTasks(given: EvalCase): Promise<boolean> {
    const { request, scorers } = this.#plan
    try {
      const chosen = chooseScorers(given, scorers)
      const made = (await this.#agentsOf(given)).flatMap((agent) =>
        request.variants.map((changes) => this.#makeColumn(agent, changes)),
      )
      const columns = (await Promise.all(made)).map((column) => this.#columnOf(column))
      for (let repeat = 1; repeat <= request.repeat; repeat++) {
        for (const column of columns) this.#tasks.push({ given, column, repeat, scorers: chosen })
      }
      return true
    } catch (error) {
      this.#problems.push({ where: `${given.file}:${given.line}`, message: describeError(error) })
      return false
    }
  }

  /** @throws Error where neither command nor row name an agent, and there are several */
  async #agentsOf({ agent, tape }: EvalCase): Promise<readonly string[]> {
    const { request } = this.#plan
    if (request.agents.length > 0) return request.agents
    const own = agent ?? (tape === undefined ? undefined : await this.#taped.agentOf(tape))
    if (own !== undefined) return [own]
    const { ids } = this.#options.agents
    const [only, other] = ids
    if (only !== undefined && other === undefined) return [only]
    throw new Error(
      `name the agent, with "agent" in the row or --agent: there are ${ids.length === 0 ? 'none' : ids.join(', ')}.`,
    )
  }

  #makeColumn(agent: string, changes: readonly VariantChange[]): Promise<EvalColumn> {
    return makeColumn(agent, changes, (id, change) => this.#options.agents.valueOf(id, change))
  }

  #columnOf(column: EvalColumn): number {
    const known = this.#columns.findIndex((other) => isSameColumn(other, column))
    return known === -1 ? this.#columns.push(withOwnName(column, this.#columns)) - 1 : known
  }

  /** Keeps the runs of a stopped eval. Those that did not begin are tried again. */
  #keepPrevious(previous: EvalResult | undefined): void {
    if (!previous) return
    const digests = new Map(previous.cases.map(({ id, digest }) => [id, digest]))
    const unchanged = new Set(this.#cases.filter(({ id, digest }) => digests.get(id) === digest).map(({ id }) => id))
    for (const run of previous.runs) {
      if (unchanged.has(run.case) && run.status !== 'not_run') this.#note(run)
    }
  }

  /** @returns undefined for a run that was stopped */
  async #runTask({ given, column: index, repeat, scorers }: Task): Promise<EvalRun | undefined> {
    const column = this.#columns[index] as EvalColumn
    const { signal } = this.#options
    const { tape } = given
    const { input, agentVersion, ...run } = await (tape === undefined
      ? this.#live.run(given, column, signal)
      : this.#taped.run(tape, given, column, signal))
    if (signal.aborted && run.status === 'cancelled') return undefined
    if (agentVersion !== null) this.#noteVersion(index, agentVersion)
    if (!run.is_played) this.#spent += run.cost ?? 0
    const scored = toScored(run, column)
    const facts = { input, output: run.output, expected: given.expected, id: given.id, tags: given.tags }
    const scores = scored
      ? await scoreRun(
          scorers,
          {
            ...facts,
            expectedTools: given.expectedTools,
            expectedWaits: given.expectedWaits,
            run: scored,
            host: this.#host,
          },
          signal,
        )
      : []
    if (signal.aborted) return undefined
    return { case: given.id, column: index, repeat, ...run, scores, score: scoreOf({ status: run.status, scores }) }
  }

  /** Runs of one column are of one version: those that were kept of another are made again. */
  #noteVersion(index: number, version: string): void {
    const column = this.#columns[index] as EvalColumn
    const kept = this.#kept.get(index) ?? []
    this.#kept.delete(index)
    if (column.version === null || (kept.length > 0 && column.version !== version))
      this.#columns[index] = { ...column, version }
    if (column.version === null || column.version === version) return
    for (const task of kept) this.#drop(keyOfTask(task))
    this.#open.push(...kept)
  }

  #drop(key: string): void {
    const score = this.#runs.get(key)?.score ?? null
    this.#runs.delete(key)
    this.#count(score, -1)
  }

  #note(run: EvalRun): void {
    this.#runs.set(keyOf(run.case, run.column, run.repeat), run)
    this.#count(run.score, 1)
  }

  #count(score: number | null, sign: 1 | -1): void {
    if (score === null) return
    this.#scoreSum += sign * score
    this.#scored += sign
  }

  #tell(run: EvalRun | undefined): void {
    this.#options.onProgress({
      done: this.#runs.size,
      total: this.#tasks.length,
      run,
      score: this.#scored === 0 ? null : this.#scoreSum / this.#scored,
      spent: this.#spent,
      result: () => this.toResult('running'),
    })
  }
}

function toScored(run: Omit<CaseRun, 'input' | 'agentVersion'>, { agent }: EvalColumn) {
  const { status } = run
  if (status !== 'completed' && status !== 'waiting') return undefined
  return {
    agent,
    status,
    tools: run.tools,
    waits: run.waits ?? [],
    durationMs: run.duration_ms,
    inputTokens: run.input_tokens,
    outputTokens: run.output_tokens,
    cost: run.cost,
    isPlayed: run.is_played,
  }
}

function toResultCase({
  id,
  file,
  line,
  input,
  expected,
  expectedTools,
  expectedWaits,
  tags,
  tape,
  digest,
}: EvalCase): EvalResultCase {
  return {
    id,
    file,
    line,
    input: input ?? null,
    ...(expected === undefined ? {} : { expected }),
    ...(expectedTools === undefined ? {} : { expected_tools: [...expectedTools] }),
    ...(expectedWaits === undefined ? {} : { expected_waits: [...expectedWaits] }),
    tags: [...tags],
    tape: tape ?? null,
    digest,
  }
}

function keyOfTask({ given, column, repeat }: Task): string {
  return keyOf(given.id, column, repeat)
}

function keyOf(caseId: string, column: number, repeat: number): string {
  return `${column} ${repeat} ${caseId}`
}

/** Name of a result: that of the only file of cases, or `all`. */
export function nameOf({ files }: EvalRequest): string {
  const [only, other] = files
  return only !== undefined && other === undefined ? basename(only, extname(only)) : 'all'
}
