import { GraphQLError } from 'graphql'
import { foldStack } from '../../../run/calls/fold-stack.ts'
import { isWaitingResult } from '../../../run/calls/waits-for.ts'
import {
  type CallKind,
  errorOf,
  isAborted,
  kindOf,
  labelOf,
  type ModelUsage,
  usageOf,
} from '../../../trace/describe-event.ts'
import type { Prices } from '../../../trace/prices.ts'
import type { RunSummary } from '../../../trace/run-summary.ts'
import { readTraceLine } from '../../../trace/trace-line.ts'
import type { TracedEvent } from '../../../trace/traced-event.ts'
import type { Traces } from '../../../trace/traces.ts'
import { hasTape, viewSavedTest } from './run-tape.ts'
import { contentFor, type Viewer } from './viewer.ts'

const MAX_EVENTS = 5000

export interface EventsArguments {
  first: number
  after?: string | null
  call_id?: string | null
  module_id?: string | null
  method_name?: string | null
  event_type?: string | null
}

/** Data sources of runs, their costs and their tapes. */
export interface RunSources {
  readonly traces: Traces
  /** Absolute path of the project. */
  readonly projectDir: string
  readonly prices: Prices
}

/** Tokens of a model with their cost, and the size of its context; null where the price table does not say. */
export type PricedUsage = ModelUsage & { readonly cost: number | null; readonly context_window: number | null }

export function priceModels(models: readonly ModelUsage[], prices: Prices): PricedUsage[] {
  return models.map((usage) => ({
    ...usage,
    cost: prices.costOf([usage]),
    context_window: prices.contextOf(usage.model),
  }))
}

/** A run in GraphQL. */
export function viewRun(run: RunSummary, { traces, prices, projectDir }: RunSources) {
  return {
    ...run,
    models: priceModels(run.models, prices),
    cost: prices.costOf(run.models),
    neighbours: (_: unknown, { seesContent }: Viewer) => (seesContent ? traces.query('neighbours', run.run_id) : {}),
    run_id: (_: unknown, viewer: Viewer) => contentFor(viewer, run.run_id),
    variant: (_: unknown, viewer: Viewer) => contentFor(viewer, run.variant),
    continues: (_: unknown, viewer: Viewer) => contentFor(viewer, run.continues),
    parent_run_id: (_: unknown, viewer: Viewer) => contentFor(viewer, run.parent_run_id),
    continued_by: (_: unknown, viewer: Viewer) => contentFor(viewer, run.continued_by),
    input: (_: unknown, viewer: Viewer) => contentFor(viewer, run.input),
    output: (_: unknown, viewer: Viewer) => contentFor(viewer, run.output),
    error: (_: unknown, viewer: Viewer) => contentFor(viewer, run.error),
    has_tape: () => hasTape(projectDir, run.run_id),
    saved_test: ({ name }: { name?: string | null }, viewer: Viewer) =>
      viewer.seesContent ? viewSavedTest(projectDir, run.run_id, name ?? undefined) : null,
    events: (wanted: EventsArguments) => eventsOf(run, wanted, { traces, prices }),
  }
}

async function eventsOf(
  run: RunSummary,
  wanted: EventsArguments,
  { traces, prices }: Pick<RunSources, 'traces' | 'prices'>,
) {
  const first = between('first', wanted.first, MAX_EVENTS)
  const after = wanted.after == null ? -1 : readIndex(wanted.after)
  const { events, hasMore, elsewhere } = await traces.events(run, {
    runId: run.run_id,
    after,
    first,
    callId: wanted.call_id ?? undefined,
    moduleId: wanted.module_id ?? undefined,
    methodName: wanted.method_name ?? undefined,
    eventType: wanted.event_type ?? undefined,
  })
  const last = events.at(-1)?.index ?? after
  return {
    events: events.flatMap(({ line, index }) => viewLine(line, index, prices)),
    cursor: last === -1 ? null : String(last),
    has_more: hasMore,
    elsewhere,
  }
}

/** The event of a line in GraphQL; none for a line that cannot be read. */
export function viewLine(line: string, index: number | null, prices: Prices): object[] {
  const event = readTraceLine(line)
  return event ? [new EventView(event, index, prices)] : []
}

/** Plain fields, and methods for the expensive ones. */
class EventView {
  readonly index: number | null
  readonly #event: TracedEvent
  readonly #prices: Prices

  constructor(event: TracedEvent, index: number | null, prices: Prices) {
    const {
      arguments: _arguments,
      result: _result,
      exception: _exception,
      run_id: _run,
      variant: _variant,
      ...facts
    } = event
    Object.assign(this, facts)
    this.index = index
    this.#event = event
    this.#prices = prices
  }

  kind(): CallKind {
    return kindOf(this.#event)
  }

  run_id(_: unknown, viewer: Viewer): string | null {
    return contentFor(viewer, this.#event.run_id)
  }

  variant(_: unknown, viewer: Viewer): unknown {
    return contentFor(viewer, this.#event.variant ?? null)
  }

  label(_: unknown, viewer: Viewer): string | null {
    return contentFor(viewer, labelOf(this.#event))
  }

  error(_: unknown, viewer: Viewer): string | null {
    return contentFor(viewer, errorOf(this.#event.exception))
  }

  is_aborted(): boolean {
    return isAborted(this.#event.exception)
  }

  is_waiting(): boolean {
    return isWaitingResult(this.#event.result)
  }

  usage(): object | null {
    const usage = usageOf(this.#event.result)
    return usage && (priceModels([usage], this.#prices)[0] ?? null)
  }

  arguments(_: unknown, viewer: Viewer): unknown {
    return contentFor(viewer, this.#event.arguments)
  }

  result(_: unknown, viewer: Viewer): unknown {
    return contentFor(viewer, this.#event.result)
  }

  exception(_: unknown, viewer: Viewer): string | null {
    return contentFor(viewer, this.#event.exception)
  }

  folded_exception(_: unknown, viewer: Viewer): string | null {
    const { exception } = this.#event
    return contentFor(viewer, exception === null ? null : foldStack(exception))
  }
}

/** @throws GraphQLError naming the argument and its limits */
export function between(name: string, value: number, max: number): number {
  if (value >= 1 && value <= max) return value
  throw new GraphQLError(`${name} must be from 1 to ${max}, not ${value}.`)
}

function readIndex(cursor: string): number {
  const index = Number(cursor)
  if (Number.isInteger(index) && index >= 0) return index
  throw new GraphQLError(`after must be the cursor of a page, not '${cursor}'.`)
}
