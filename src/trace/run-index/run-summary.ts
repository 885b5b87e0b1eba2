import { getOrAdd } from '../../get-or-add.ts'
import { fieldsOf } from '../../json.ts'
import { withoutPlainName } from '../../run/calls/agent-events.ts'
import { nameChanges } from '../../wire/describe-change.ts'
import { addModelUsage, isAborted, isFailedResult, type ModelUsage, usageOf } from '../calls/describe-event.ts'
import { outcomeOf, type RunOutcome } from '../files/end-event.ts'
import type { TracedEvent } from '../files/traced-event.ts'
import { checkFacts, factsAtBeginning, type RunSummary } from '../run-columns.ts'
import { EventLocations } from './event-locations.ts'
import { Histogram } from './histogram.ts'
import { type ToolStatsByName, ToolTally } from './tool-tally.ts'

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
  /** Messages of failed calls, by the call around them: one that fails for the same reason is no further error. */
  readonly #failures = new Map<string, string[]>()

  private constructor(summary: RunSummary, { modules, tools, steps, places }: Omit<RunRecord, 'summary'>) {
    this.summary = summary
    this.places = new EventLocations(places)
    this.#tools = new ToolTally(tools)
    this.#steps = new Set(steps)
    for (const [id, stats] of Object.entries(modules)) {
      this.#modules.set(id, { stats, durations: new Histogram(stats.durations) })
    }
  }

  /** @throws TypeError for an event that something else has written */
  static begin(runId: string, event: TracedEvent): RunBuilder {
    const { user, variant, replays, time } = event
    const summary: RunSummary = {
      ...factsAtBeginning(event),
      run_id: runId,
      // Of a run without its beginning nobody knows whose it is.
      user: user ? toPreview(user) : isBeginning(event) ? null : '',
      variant: Array.isArray(variant) ? toPreview(nameChanges(variant)) : null,
      replays: replays?.run_id ?? null,
      replays_from: replays?.from_call ?? null,
      started_at: time,
    }
    return new RunBuilder(checkFacts(summary), { modules: {}, tools: {}, steps: [], places: '' })
  }

  static resume({ summary, ...rest }: RunRecord): RunBuilder {
    return new RunBuilder(summary, rest)
  }

  get isRunning(): boolean {
    return this.summary.status === 'running'
  }

  /** @throws TypeError for an event that something else has written */
  add(event: TracedEvent): void {
    checkEvent(event)
    const { summary } = this
    summary.events++
    // A run with new events was not interrupted.
    if (summary.status === 'interrupted') summary.status = 'running'
    const outcome = outcomeOf(event)
    if (outcome) this.#end(outcome, event)
    else if (event.event_type === 'call') this.#begin(event)
    else this.#finish(event)
  }

  toRecord(): RunRecord {
    const modules = [...this.#modules].map(([id, { stats, durations }]) => [id, { ...stats, durations }])
    return {
      summary: this.summary,
      // As JSON: a histogram has a `toJSON`.
      modules: Object.fromEntries(modules) as RunRecord['modules'],
      tools: this.#tools.toJSON(),
      steps: [...this.#steps],
      places: this.places.toString(),
    }
  }

  #begin(event: TracedEvent): void {
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
  }

  /** The handler is not always the only call of the agent itself: guards and approved calls run before or after it. */
  #enter({ method_name, time }: TracedEvent, input: unknown): void {
    const { summary } = this
    summary.started_at = Math.min(summary.started_at, time)
    const isQuestion = method_name === 'handleText' || summary.input === ''
    if (isQuestion && typeof input === 'string') summary.input = toPreview(input)
  }

  #end(outcome: RunOutcome, { duration_ms, exception }: TracedEvent): void {
    const { summary } = this
    const { status, incomplete, expires_at = null, text, first_text_ms, input_tokens, output_tokens } = outcome
    const tokens = checkFacts({ input_tokens, output_tokens })
    const said = { status, incomplete, expires_at, first_text_ms, duration_ms, output: toPreview(text) }
    Object.assign(summary, checkFacts({ ...said, error: exception ?? summary.error }))
    // Counted once, where the calls of models within models would be counted for each.
    if (input_tokens + output_tokens > 0) Object.assign(summary, tokens)
  }

  #finish(event: TracedEvent): void {
    if (event.event_type === 'result') this.summary.results++
    if (event.exception !== null && !isAborted(event.exception)) this.#fail(event, event.exception)
    // Not an error of its module: the tool was called, and says what is wrong.
    else if (isToolFailure(event)) this.summary.error = toPreview(String(fieldsOf(event.result).text ?? ''))
    if (!isOfRun(event)) this.#module(event.module_id).durations.add(event.duration_ms ?? 0)
    this.#tools.finish(event, this.#count(event))
  }

  #fail(event: TracedEvent, exception: string): void {
    const message = exception.split('\n', 1)[0] ?? ''
    const within = this.#failures.get(event.call_id) ?? []
    this.#failures.delete(event.call_id)
    if (!within.some((each) => exception.includes(each))) this.summary.errors++
    const { parent_call_id: around } = event
    if (around !== null) {
      getOrAdd(this.#failures, around, () => []).push(message)
    }
    this.summary.error = toPreview(withoutPlainName(message))
    if (!isOfRun(event)) this.#module(event.module_id).stats.errors++
  }

  /** Counts the tokens that a model's answer reports. @returns those that were not counted before */
  #count({ call_id, parent_call_id, module_id, result }: TracedEvent): ModelUsage | undefined {
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
    this.summary.models = addModelUsage(this.summary.models, usage)
    return usage
  }

  #module(id: string) {
    return getOrAdd(this.#modules, id, () => ({
      stats: { calls: 0, errors: 0, input_tokens: 0, output_tokens: 0, durations: {} },
      durations: new Histogram(),
    }))
  }
}

function checkEvent({ module_id, method_name, duration_ms }: TracedEvent): void {
  const areNames = typeof module_id === 'string' && typeof method_name === 'string'
  if (!areNames || !Number.isFinite(duration_ms ?? 0)) throw new TypeError('The event is none of this host.')
}

/** Returns true for the event that a run begins with. */
export function isBeginning(event: TracedEvent): boolean {
  return event.event_type === 'call' && isEntry(event)
}

/** Returns true for a call by the agent itself: of the entry module, of a guard, or of an approved tool. */
function isEntry({ caller_id, parent_call_id }: TracedEvent): boolean {
  // A line that something else has written may name any caller.
  return parent_call_id === null && typeof caller_id === 'string' && caller_id.startsWith('agent:')
}

/** Returns true for a call to a provider of the run itself: its answer, or its conversation. */
function isOfRun({ module_id }: TracedEvent): boolean {
  return module_id.startsWith('__')
}

function isToolFailure({ method_name, result }: TracedEvent): boolean {
  return method_name === 'executeTool' && isFailedResult(result)
}

function toPreview(text: string): string {
  return text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text
}
