import type { AgentEvent } from '../run/calls/call-event.ts'
import { addUsage, isAborted, isWaiting, type ModelUsage, usageOf } from './describe-event.ts'
import { EventLocations } from './event-locations.ts'
import { Histogram } from './histogram.ts'
import { type ToolStatsByName, ToolTally } from './tool-tally.ts'

export const RUN_STATUSES = [
  'running',
  'completed',
  'waiting',
  'continued',
  'failed',
  'cancelled',
  'interrupted',
] as const
/** `continued`: it waited, and another run continues it. `interrupted`: the process went away before the run had ended. */
export type RunStatus = (typeof RUN_STATUSES)[number]

/** One run in short. Fields are named as GraphQL names them. */
export interface RunSummary {
  run_id: string
  agent_id: string
  entry_point: string
  /** Name of the server that ran it; empty in traces that name none. */
  server: string
  /** Version of the agent's definition; null in traces that do not say. */
  agent_version: string | null
  status: RunStatus
  /** Id of the waiting run that this one continues; null for any other. */
  continues: string | null
  /** Id of the run that continues this one, the first of several; null while there is none. */
  continued_by: string | null
  /** Unix time in seconds, with fractions. */
  started_at: number
  /** Null while it runs. */
  duration_ms: number | null
  /** Until the agent's first text went out; null when there was none. */
  first_text_ms: number | null
  calls: number
  errors: number
  events: number
  /** Question to the agent and its answer: the beginning of each. */
  input: string
  output: string
  /** Error of the run: one line. */
  error: string | null
  input_tokens: number
  output_tokens: number
  /** Tokens by model; empty where none was counted. */
  models: readonly ModelUsage[]
}

/** An event as a trace file has it. */
export interface TracedEvent extends AgentEvent {
  /** Name of the server, in the event that begins a run. */
  readonly server?: string
}

/** End of a run, from the host. */
export interface RunEndNote {
  readonly runId: string
  readonly status: RunStatus
  readonly durationMs: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Statistics of one module in one run. */
export interface ModuleStats {
  calls: number
  errors: number
  input_tokens: number
  output_tokens: number
  durations: Record<string, number>
}

/** A run as the index keeps it. */
export interface RunRecord {
  readonly summary: RunSummary
  /** By module id. */
  readonly modules: Readonly<Record<string, ModuleStats>>
  readonly tools: ToolStatsByName
  /** Every `<module id>.<method>` that was called. */
  readonly steps: readonly string[]
  /** Locations of its events: see {@link EventLocations}. */
  readonly places: string
}

const PREVIEW = 300

/** A run, put together from its events as they come. */
export class RunBuilder {
  readonly summary: RunSummary
  readonly places: EventLocations
  readonly #modules = new Map<string, { stats: ModuleStats; durations: Histogram }>()
  readonly #tools: ToolTally
  readonly #steps: Set<string>
  /** Calls that contain a counted model call: wrappers that pass its answer on are not counted again. */
  readonly #counted = new Set<string>()
  /** Time of the latest call of the agent itself. */
  #enteredAt: number

  private constructor(summary: RunSummary, { modules, tools, steps, places }: Omit<RunRecord, 'summary'>) {
    this.summary = summary
    this.#enteredAt = summary.started_at
    this.places = new EventLocations(places)
    this.#tools = new ToolTally(tools)
    this.#steps = new Set(steps)
    for (const [id, stats] of Object.entries(modules)) {
      this.#modules.set(id, { stats, durations: new Histogram(stats.durations) })
    }
  }

  static begin(
    runId: string,
    { agent_id, entry_point, server = '', agent_version, continues, time }: TracedEvent,
  ): RunBuilder {
    const summary: RunSummary = {
      run_id: runId,
      agent_id,
      entry_point: entry_point ?? '',
      server,
      agent_version: agent_version ?? null,
      status: 'running',
      continues: continues ?? null,
      continued_by: null,
      started_at: time,
      duration_ms: null,
      first_text_ms: null,
      calls: 0,
      errors: 0,
      events: 0,
      input: '',
      output: '',
      error: null,
      input_tokens: 0,
      output_tokens: 0,
      models: [],
    }
    return new RunBuilder(summary, { modules: {}, tools: {}, steps: [], places: '' })
  }

  static resume({ summary, ...rest }: RunRecord): RunBuilder {
    return new RunBuilder(summary, rest)
  }

  get isRunning(): boolean {
    return this.summary.status === 'running'
  }

  add(event: AgentEvent): void {
    const { summary } = this
    summary.events++
    // A run with new events was not interrupted.
    if (summary.status === 'interrupted') summary.status = 'running'
    if (event.event_type === 'call') this.#begin(event)
    else this.#finish(event)
  }

  /** Records the end as the host reports it: the host also knows of runs whose agent never returned. */
  end({ status, durationMs, inputTokens, outputTokens }: RunEndNote): void {
    const { summary } = this
    summary.status = status
    summary.duration_ms = durationMs
    // Counted once, where the calls of models within models would be counted for each.
    if (inputTokens + outputTokens > 0) {
      summary.input_tokens = inputTokens
      summary.output_tokens = outputTokens
    }
  }

  toRecord(): RunRecord {
    const modules = [...this.#modules].map(([id, { stats, durations }]) => [id, { ...stats, durations }])
    return {
      summary: this.summary,
      modules: Object.fromEntries(modules) as RunRecord['modules'],
      tools: this.#tools.toJSON(),
      steps: [...this.#steps],
      places: this.places.toString(),
    }
  }

  #begin(event: AgentEvent): void {
    const { summary } = this
    // What the run itself provides is no work of a module.
    if (!isOfRun(event)) {
      summary.calls++
      this.#module(event.module_id).stats.calls++
    }
    this.#tools.begin(event)
    this.#steps.add(`${event.module_id}.${event.method_name}`)
    const [first] = event.arguments?.args ?? []
    if (isEntry(event)) this.#enter(event, first)
    if (event.method_name === 'respondText' && event.module_id === '__response__') this.#respond(first, event.time)
  }

  /** The handler is not always the only call of the agent itself: guards and approved calls run before or after it. */
  #enter({ method_name, time }: AgentEvent, input: unknown): void {
    const { summary } = this
    summary.started_at = Math.min(summary.started_at, time)
    this.#enteredAt = time
    const isQuestion = method_name === 'handleText' || summary.input === ''
    if (isQuestion && typeof input === 'string') summary.input = shorten(input)
    if (summary.status !== 'cancelled') Object.assign(summary, { status: 'running', duration_ms: null })
  }

  #respond(text: unknown, time: number): void {
    const { summary } = this
    summary.first_text_ms ??= (time - summary.started_at) * 1000
    if (typeof text === 'string' && summary.output.length < PREVIEW) summary.output = shorten(summary.output + text)
  }

  #finish(event: AgentEvent): void {
    if (event.exception !== null && !isAborted(event.exception)) this.#fail(event, event.exception)
    if (!isOfRun(event)) this.#module(event.module_id).durations.add(event.duration_ms ?? 0)
    this.#tools.finish(event, this.#count(event))
    if (!isEntry(event) || this.summary.duration_ms !== null) return
    const before = (this.#enteredAt - this.summary.started_at) * 1000
    this.summary.duration_ms = before + (event.duration_ms ?? 0)
    this.summary.status = statusOf(event)
  }

  #fail(event: AgentEvent, exception: string): void {
    this.summary.errors++
    this.summary.error = shorten(exception.split('\n', 1)[0] ?? '')
    if (!isOfRun(event)) this.#module(event.module_id).stats.errors++
  }

  /** Counts the tokens that a model's answer reports. @returns those that were not counted before */
  #count({ call_id, parent_call_id, module_id, result }: AgentEvent): ModelUsage | undefined {
    const usage = usageOf(result)
    if (!usage) return undefined
    const isCounted = this.#counted.delete(call_id)
    if (parent_call_id !== null) this.#counted.add(parent_call_id)
    const { stats } = this.#module(module_id)
    stats.input_tokens += usage.input_tokens
    stats.output_tokens += usage.output_tokens
    if (isCounted) return undefined
    this.summary.input_tokens += usage.input_tokens
    this.summary.output_tokens += usage.output_tokens
    this.summary.models = addUsage(this.summary.models, usage)
    return usage
  }

  #module(id: string) {
    let module = this.#modules.get(id)
    if (!module) {
      const stats: ModuleStats = { calls: 0, errors: 0, input_tokens: 0, output_tokens: 0, durations: {} }
      module = { stats, durations: new Histogram() }
      this.#modules.set(id, module)
    }
    return module
  }
}

/** Returns true for the event that a run begins with. */
export function isBeginning(event: AgentEvent): boolean {
  return event.event_type === 'call' && isEntry(event)
}

/** Returns true for a call by the agent itself: of the entry module, of a guard, or of an approved tool. */
function isEntry({ caller_id, parent_call_id }: AgentEvent): boolean {
  return parent_call_id === null && caller_id.startsWith('agent:')
}

/** Returns true for a call to a provider of the run itself: its answer, or its conversation. */
function isOfRun({ module_id }: AgentEvent): boolean {
  return module_id.startsWith('__')
}

/** Status without a report of the host: an aborted agent throws the reason. */
function statusOf({ exception }: AgentEvent): RunStatus {
  if (exception === null) return 'completed'
  if (isWaiting(exception)) return 'waiting'
  return isAborted(exception) ? 'cancelled' : 'failed'
}

function shorten(text: string): string {
  return text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text
}
