import { getOrAdd } from '../../get-or-add.ts'
import { addModelUsage, type ModelUsage } from '../calls/describe-event.ts'
import { Histogram } from './histogram.ts'
import type { ModuleStats } from './run-summary.ts'
import type { ToolStats, ToolStatsByName } from './tool-tally.ts'
import type { MetricsQuery } from './trace-query.ts'

/** Numbers of a set of runs, or of the calls of one module or tool. Fields are named as GraphQL names them. */
export interface MetricsRow {
  readonly count: number
  readonly errors: number
  /** Completed runs whose answer is not complete; 0 for the calls of a module or tool. */
  readonly incomplete: number
  /** Calls of tools that a person or a policy did not allow. */
  readonly rejected: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly first_text_p50_ms: number | null
  readonly input_tokens: number
  readonly output_tokens: number
  /** Tokens by model; empty for the calls of a module. */
  readonly models: readonly ModelUsage[]
}

export interface MetricsView {
  readonly since: number
  readonly until: number
  readonly bucket_seconds: number
  readonly total: MetricsRow
  /** One a bucket, also where nothing happened. `time` is the beginning of the bucket. */
  readonly points: readonly (MetricsRow & { readonly time: number })[]
  /** `counts` are the runs of the agent, one number a bucket. */
  readonly agents: readonly (MetricsRow & {
    readonly agent_id: string
    readonly last_at: number
    readonly counts: readonly number[]
  })[]
  /** Versions of each agent, by the time of their first run. */
  readonly versions: readonly (MetricsRow & {
    readonly agent_id: string
    readonly agent_version: string
    readonly first_at: number
    readonly last_at: number
  })[]
  readonly modules: readonly (MetricsRow & { readonly agent_id: string; readonly module_id: string })[]
  readonly tools: readonly (MetricsRow & { readonly agent_id: string; readonly tool_name: string })[]
}

interface RunRow {
  readonly agent_id: string
  readonly agent_version: string | null
  readonly status: string
  readonly incomplete: string | null
  readonly started_at: number
  readonly duration_ms: number | null
  readonly first_text_ms: number | null
  readonly input_tokens: number
  readonly output_tokens: number
  /** JSON of a list of {@link ModelUsage}. */
  readonly models: string
  /** JSON of {@link ModuleStats} by module id. */
  readonly stats: string
  /** JSON of {@link ToolStatsByName}. */
  readonly tools: string
}

class Tally {
  count = 0
  errors = 0
  incomplete = 0
  rejected = 0
  input_tokens = 0
  output_tokens = 0
  first_at = Infinity
  last_at = 0
  models: ModelUsage[] = []
  readonly durations = new Histogram()
  readonly firstTexts = new Histogram()

  addRun(run: RunRow, models: readonly ModelUsage[]): void {
    this.count++
    for (const usage of models) this.models = addModelUsage(this.models, usage)
    if (run.status === 'failed' || run.status === 'interrupted') this.errors++
    if (run.incomplete !== null) this.incomplete++
    if (run.duration_ms !== null) this.durations.add(run.duration_ms)
    if (run.first_text_ms !== null) this.firstTexts.add(run.first_text_ms)
    this.input_tokens += run.input_tokens
    this.output_tokens += run.output_tokens
    this.first_at = Math.min(this.first_at, run.started_at)
    this.last_at = Math.max(this.last_at, run.started_at)
  }

  addModule(stats: ModuleStats): void {
    this.count += stats.calls
    this.errors += stats.errors
    this.durations.addAll(stats.durations)
    this.input_tokens += stats.input_tokens
    this.output_tokens += stats.output_tokens
  }

  addTool({ calls, errors, rejected = 0, durations, models }: ToolStats): void {
    this.count += calls
    this.rejected += rejected
    this.errors += errors
    this.durations.addAll(durations)
    for (const usage of models) {
      this.models = addModelUsage(this.models, usage)
      this.input_tokens += usage.input_tokens
      this.output_tokens += usage.output_tokens
    }
  }

  row(): MetricsRow {
    const { durations, firstTexts, first_at: _first, last_at: _last, ...numbers } = this
    return {
      ...numbers,
      p50_ms: durations.quantile(0.5),
      p95_ms: durations.quantile(0.95),
      first_text_p50_ms: firstTexts.quantile(0.5),
    }
  }
}

/** Adds up runs: as a whole, over time, by agent, version, module and tool. */
export class MetricsTally {
  readonly #query: MetricsQuery
  readonly #total = new Tally()
  readonly #points = new Map<number, Tally>()
  readonly #agents = new Map<string, { tally: Tally; counts: Map<number, number> }>()
  readonly #versions = new TallyByName()
  readonly #modules = new TallyByName()
  readonly #tools = new TallyByName()

  constructor(query: MetricsQuery) {
    this.#query = query
  }

  add(run: RunRow): void {
    const { moduleId } = this.#query
    const models = JSON.parse(run.models) as ModelUsage[]
    const modules = JSON.parse(run.stats) as Readonly<Record<string, ModuleStats>>
    const stats = moduleId !== undefined && Object.hasOwn(modules, moduleId) ? modules[moduleId] : undefined
    this.#addToAgent(run, models)
    this.#versions.of(run.agent_id, run.agent_version ?? '').addRun(run, models)
    for (const [id, each] of Object.entries(modules)) this.#modules.of(run.agent_id, id).addModule(each)
    const tools = JSON.parse(run.tools) as ToolStatsByName
    for (const [name, each] of Object.entries(tools)) {
      // A tool that only waits has neither.
      if (each.calls > 0 || each.models.length > 0) this.#tools.of(run.agent_id, name).addTool(each)
    }
    if (moduleId !== undefined && !stats) return
    for (const tally of [this.#total, getOrAdd(this.#points, this.#bucketOf(run.started_at), () => new Tally())]) {
      if (stats) tally.addModule(stats)
      else tally.addRun(run, models)
    }
  }

  view(): MetricsView {
    const { since, until, bucketSeconds } = this.#query
    const times: number[] = []
    for (let time = this.#bucketOf(since); time < until; time += bucketSeconds) times.push(time)
    const none = new Tally()
    return {
      since,
      until,
      bucket_seconds: bucketSeconds,
      total: this.#total.row(),
      points: times.map((time) => ({ time, ...(this.#points.get(time) ?? none).row() })),
      agents: [...this.#agents].map(([agent_id, { tally, counts }]) => ({
        agent_id,
        last_at: tally.last_at,
        counts: times.map((time) => counts.get(time) ?? 0),
        ...tally.row(),
      })),
      versions: this.#versions.map((agent_id, agent_version, tally) => ({
        agent_id,
        agent_version,
        first_at: tally.first_at,
        last_at: tally.last_at,
        ...tally.row(),
      })),
      modules: this.#modules.map((agent_id, module_id, tally) => ({ agent_id, module_id, ...tally.row() })),
      tools: this.#tools.map((agent_id, tool_name, tally) => ({ agent_id, tool_name, ...tally.row() })),
    }
  }

  #addToAgent(run: RunRow, models: readonly ModelUsage[]): void {
    const { tally, counts } = getOrAdd(this.#agents, run.agent_id, () => ({ tally: new Tally(), counts: new Map() }))
    tally.addRun(run, models)
    const bucket = this.#bucketOf(run.started_at)
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
  }

  #bucketOf(time: number): number {
    const { bucketSeconds, utcOffset = 0 } = this.#query
    return Math.floor((time + utcOffset) / bucketSeconds) * bucketSeconds - utcOffset
  }
}

/** Tallies of modules and tools, by agent and name. */
class TallyByName {
  readonly #agents = new Map<string, Map<string, Tally>>()

  of(agentId: string, name: string): Tally {
    const named = getOrAdd(this.#agents, agentId, () => new Map<string, Tally>())
    return getOrAdd(named, name, () => new Tally())
  }

  map<T>(view: (agentId: string, name: string, tally: Tally) => T): T[] {
    return [...this.#agents].flatMap(([agentId, named]) => {
      return [...named].map(([name, tally]) => view(agentId, name, tally))
    })
  }
}
