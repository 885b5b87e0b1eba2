import type { ModelUsage } from './describe-event.ts'
import { Histogram } from './histogram.ts'
import { addUsage, type ModuleStats } from './run-summary.ts'
import type { MetricsQuery } from './trace-query.ts'

/** Numbers of a set of runs, or of the calls of one module. Fields are named as GraphQL names them. */
export interface MetricsRow {
  readonly count: number
  readonly errors: number
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
  readonly modules: readonly (MetricsRow & { readonly agent_id: string; readonly module_id: string })[]
}

interface RunRow {
  readonly agent_id: string
  readonly status: string
  readonly started_at: number
  readonly duration_ms: number | null
  readonly first_text_ms: number | null
  readonly input_tokens: number
  readonly output_tokens: number
  /** JSON of a list of {@link ModelUsage}. */
  readonly models: string
  /** JSON of {@link ModuleStats} by module id. */
  readonly stats: string
}

class Tally {
  count = 0
  errors = 0
  inputTokens = 0
  outputTokens = 0
  lastAt = 0
  models: ModelUsage[] = []
  readonly durations = new Histogram()
  readonly firstTexts = new Histogram()

  addRun(run: RunRow, models: readonly ModelUsage[]): void {
    this.count++
    for (const usage of models) this.models = addUsage(this.models, usage)
    if (run.status === 'failed' || run.status === 'interrupted') this.errors++
    if (run.duration_ms !== null) this.durations.add(run.duration_ms)
    if (run.first_text_ms !== null) this.firstTexts.add(run.first_text_ms)
    this.inputTokens += run.input_tokens
    this.outputTokens += run.output_tokens
    this.lastAt = Math.max(this.lastAt, run.started_at)
  }

  addModule(stats: ModuleStats): void {
    this.count += stats.calls
    this.errors += stats.errors
    this.durations.addAll(stats.durations)
    this.inputTokens += stats.input_tokens
    this.outputTokens += stats.output_tokens
  }

  row(): MetricsRow {
    return {
      count: this.count,
      errors: this.errors,
      p50_ms: this.durations.quantile(0.5),
      p95_ms: this.durations.quantile(0.95),
      first_text_p50_ms: this.firstTexts.quantile(0.5),
      input_tokens: this.inputTokens,
      output_tokens: this.outputTokens,
      models: this.models,
    }
  }
}

/** Adds up runs: as a whole, over time, by agent and by module. */
export class MetricsTally {
  readonly #query: MetricsQuery
  readonly #total = new Tally()
  readonly #points = new Map<number, Tally>()
  readonly #agents = new Map<string, { tally: Tally; counts: Map<number, number> }>()
  readonly #modules = new Map<string, { agentId: string; moduleId: string; tally: Tally }>()

  constructor(query: MetricsQuery) {
    this.#query = query
  }

  add(run: RunRow): void {
    const { moduleId } = this.#query
    const models = JSON.parse(run.models) as ModelUsage[]
    const modules = JSON.parse(run.stats) as Readonly<Record<string, ModuleStats>>
    const stats = moduleId === undefined ? undefined : modules[moduleId]
    this.#addToAgent(run, models)
    for (const [id, each] of Object.entries(modules)) this.#moduleOf(run.agent_id, id).addModule(each)
    if (moduleId !== undefined && !stats) return
    for (const tally of [this.#total, at(this.#points, this.#bucketOf(run.started_at), () => new Tally())]) {
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
        last_at: tally.lastAt,
        counts: times.map((time) => counts.get(time) ?? 0),
        ...tally.row(),
      })),
      modules: [...this.#modules.values()].map(({ agentId, moduleId, tally }) => ({
        agent_id: agentId,
        module_id: moduleId,
        ...tally.row(),
      })),
    }
  }

  #addToAgent(run: RunRow, models: readonly ModelUsage[]): void {
    const { tally, counts } = at(this.#agents, run.agent_id, () => ({ tally: new Tally(), counts: new Map() }))
    tally.addRun(run, models)
    const bucket = this.#bucketOf(run.started_at)
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
  }

  #bucketOf(time: number): number {
    const { bucketSeconds, utcOffset = 0 } = this.#query
    return Math.floor((time + utcOffset) / bucketSeconds) * bucketSeconds - utcOffset
  }

  #moduleOf(agentId: string, moduleId: string): Tally {
    return at(this.#modules, `${agentId} ${moduleId}`, () => ({ agentId, moduleId, tally: new Tally() })).tally
  }
}

function at<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
