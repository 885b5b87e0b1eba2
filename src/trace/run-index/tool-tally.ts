import { getOrAdd } from '../../get-or-add.ts'
import { isWaitingResult } from '../../run/waiting/waits-for.ts'
import { addModelUsage, isAborted, isFailedResult, isRejectedResult, type ModelUsage } from '../calls/describe-event.ts'
import type { TracedEvent } from '../files/traced-event.ts'
import { Histogram } from './histogram.ts'

/** Statistics of one tool in one run. */
export interface ToolStats {
  calls: number
  errors: number
  /** Calls that were not allowed; left out by earlier versions. */
  rejected?: number
  durations: Record<string, number>
  /** Tokens of the models that worked within its calls. */
  models: readonly ModelUsage[]
}

/** Statistics of tools by name, as the index keeps them. */
export type ToolStatsByName = Readonly<Record<string, ToolStats>>

/** Tools of one run, put together from its events as they come. A call counts when it has ended. */
export class ToolTally {
  readonly #tools = new Map<string, { stats: ToolStats; durations: Histogram }>()
  /** Open calls of tools and within tools, by call id. */
  readonly #open = new Map<string, { readonly tool: string; readonly isOwn: boolean }>()

  constructor(tools: ToolStatsByName) {
    for (const [name, stats] of Object.entries(tools)) {
      this.#tools.set(name, { stats, durations: new Histogram(stats.durations) })
    }
  }

  begin(event: TracedEvent): void {
    const around = event.parent_call_id === null ? undefined : this.#open.get(event.parent_call_id)?.tool
    const own = toolOf(event)
    // A provider that passes a call on calls the tool no second time.
    if (own !== undefined && own !== around) this.#open.set(event.call_id, { tool: own, isOwn: true })
    else if (around !== undefined) this.#open.set(event.call_id, { tool: around, isOwn: false })
  }

  /** @param usage of a model, where it is not counted yet */
  finish({ call_id, duration_ms, exception, result }: TracedEvent, usage: ModelUsage | undefined): void {
    const open = this.#open.get(call_id)
    if (!open || !this.#open.delete(call_id)) return
    if (usage) this.#countModel(open.tool, usage)
    if (!open.isOwn) return
    const { stats, durations } = this.#toolOf(open.tool)
    // A call that waits is made once the run goes on: until then the tool is named, without a call.
    if (isWaitingResult(result)) return
    stats.calls++
    if (isRejectedResult(result)) stats.rejected = (stats.rejected ?? 0) + 1
    if (isFailed(exception, result)) stats.errors++
    durations.add(duration_ms ?? 0)
  }

  toJSON(): ToolStatsByName {
    return Object.fromEntries(
      [...this.#tools].map(([name, { stats, durations }]) => [name, { ...stats, durations: durations.toJSON() }]),
    )
  }

  #countModel(tool: string, usage: ModelUsage): void {
    const { stats } = this.#toolOf(tool)
    stats.models = addModelUsage(stats.models, usage)
  }

  #toolOf(name: string) {
    return getOrAdd(this.#tools, name, () => ({
      stats: { calls: 0, errors: 0, durations: {}, models: [] },
      durations: new Histogram(),
    }))
  }
}

/** Name of the tool that a call is a call of. */
function toolOf({ method_name, arguments: given }: TracedEvent): string | undefined {
  const [name] = given?.args ?? []
  return method_name === 'executeTool' && typeof name === 'string' ? name : undefined
}

/** A tool fails by throwing, or by saying so in its result. */
function isFailed(exception: string | null, result: unknown): boolean {
  if (exception !== null) return !isAborted(exception)
  return isFailedResult(result)
}
