import { setImmediate } from 'node:timers/promises'
import { badRequest } from '../../../../errors.ts'
import type { Prices } from '../../../../prices/prices.ts'
import { foldStack } from '../../../../run/calls/fold-stack.ts'
import { isWaitingResult } from '../../../../run/waiting/waits-for.ts'
import {
  type CallKind,
  errorOf,
  isAborted,
  kindOf,
  labelOf,
  usageOf,
  verdictOf,
} from '../../../../trace/calls/describe-event.ts'
import { readTraceLine } from '../../../../trace/files/trace-line.ts'
import type { TracedEvent } from '../../../../trace/files/traced-event.ts'
import { mapContents } from '../../../../trace/run-columns.ts'
import type { ListedRun } from '../../../../trace/run-index/run-row.ts'
import type { EventsPage, EventsQuery, RunLine } from '../../../../trace/run-index/trace-query.ts'
import { hasTape, readSmallTape, type TapeSources, viewSavedTest } from '../tapes/run-tape.ts'
import { contentFor, sees, type Viewer } from '../viewer.ts'
import { digestOfEvent } from './event-digest.ts'
import type { EventViews, LargeReads, QueryEvents } from './large-reads.ts'
import { priceModels, withPrices } from './price-models.ts'

const MAX_EVENTS = 5000

export interface EventsArguments {
  first: number
  after?: string | null
  below?: boolean | null
  call_id?: string | null
  module_id?: string | null
  method_name?: string | null
  event_type?: string | null
}

/** Data sources of runs, their costs and their tapes. */
export interface RunSources extends TapeSources {
  readonly prices: Prices
  readonly reads: LargeReads
}

/** A run in GraphQL. */
export function viewRun(run: ListedRun, sources: RunSources) {
  const { traces, prices } = sources
  return {
    ...withPrices(run, prices),
    ...mapContents(run, (value) => (_: unknown, viewer: Viewer) => contentFor(viewer, value)),
    neighbours: (_: unknown, { seesContent }: Viewer) => (seesContent ? traces.query('neighbours', run.run_id) : {}),
    below: async (_: unknown, viewer: Viewer) => {
      const runs = run.children > 0 ? await traces.query('below', run.run_id) : []
      return runs.filter((each) => sees(viewer, each)).map((each) => viewRun(each, sources))
    },
    has_tape: () => hasTape(run, sources),
    saved_test: ({ name }: { name?: string | null }, viewer: Viewer) =>
      viewer.seesContent
        ? viewSavedTest(name ?? undefined, () =>
            sources.reads.read(viewer, run.run_id, () => readSmallTape(run, sources)),
          )
        : null,
    // The ids of the runs below it are content.
    events: (wanted: EventsArguments, viewer: Viewer) =>
      eventsOf(run, { ...wanted, below: wanted.below && viewer.seesContent && !viewer.agents }, sources, viewer),
  }
}

async function eventsOf(
  run: ListedRun,
  wanted: EventsArguments,
  { traces, prices, reads }: RunSources,
  viewer: Viewer,
) {
  const first = between('first', wanted.first, MAX_EVENTS)
  const from = wanted.after == null ? { after: -1 } : readCursor(wanted.after)
  const query = {
    runId: run.run_id,
    after: from.after,
    ...(wanted.below ? { below: from.below ?? {} } : {}),
    first,
    callId: wanted.call_id ?? undefined,
    moduleId: wanted.module_id ?? undefined,
    methodName: wanted.method_name ?? undefined,
    eventType: wanted.event_type ?? undefined,
  }
  const ofQuery = reads.events(viewer)
  return ofQuery.read(JSON.stringify(query), async () => {
    const { events, hasMore, elsewhere } = await traces.events(run, query)
    const cursor = writeCursor(from, events)
    return { ...(await viewLines(events, { prices, ofQuery })), cursor, has_more: hasMore, elsewhere }
  })
}

/** Characters of lines that are parsed in one turn of the event loop. */
const CHARS_IN_TURN = 1024 * 1024

/** The events of lines in GraphQL, without lines that cannot be read. */
export async function viewLines(
  lines: readonly (Pick<RunLine, 'line'> & { readonly index: number | null })[],
  sources: EventSources,
): Promise<EventViews> {
  const events: EventView[] = []
  let bytes = 0
  let inTurn = 0
  for (const { line, index } of lines) {
    bytes += line.length
    inTurn += line.length
    if (inTurn > CHARS_IN_TURN) {
      inTurn = 0
      await setImmediate()
    }
    const event = readTraceLine(line)
    if (event) events.push(new EventView(event, index, line.length, sources))
  }
  return { events, bytes }
}

interface EventSources {
  readonly prices: Prices
  readonly ofQuery: QueryEvents
}

/** Plain fields, and methods for the expensive ones. */
class EventView {
  readonly index: number | null
  readonly #event: TracedEvent
  readonly #bytes: number
  readonly #sources: EventSources
  /** Fields of its content that the answer has. */
  readonly #given = new Set<string>()
  #digest: string | undefined

  constructor(event: TracedEvent, index: number | null, bytes: number, sources: EventSources) {
    const {
      arguments: _arguments,
      result: _result,
      exception: _exception,
      run_id: _run,
      variant: _variant,
      parent_run_call_id: _parentCall,
      ...facts
    } = event
    Object.assign(this, facts)
    this.index = index
    this.#event = event
    this.#bytes = bytes
    this.#sources = sources
  }

  kind(): CallKind {
    return kindOf(this.#event)
  }

  run_id(_: unknown, viewer: Viewer): string | null {
    return contentFor(viewer, this.#event.run_id)
  }

  variant(_: unknown, viewer: Viewer): unknown {
    // As requests take it.
    const changes = this.#event.variant?.map(({ before: _, ...change }) => change)
    return this.#giveTo(viewer, 'variant', changes ?? null)
  }

  parent_run_call_id(_: unknown, viewer: Viewer): string | null {
    return contentFor(viewer, this.#event.parent_run_call_id ?? null)
  }

  verdict(): string | null {
    return verdictOf(this.#event)
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
    return usage && (priceModels([usage], this.#sources.prices)[0] ?? null)
  }

  digest(_: unknown, viewer: Viewer): string | null {
    if (!viewer.seesContent) return null
    this.#digest ??= digestOfEvent(this.#event)
    return this.#digest
  }

  arguments(_: unknown, viewer: Viewer): unknown {
    return this.#giveTo(viewer, 'arguments', this.#event.arguments)
  }

  result(_: unknown, viewer: Viewer): unknown {
    return this.#giveTo(viewer, 'result', this.#event.result)
  }

  exception(_: unknown, viewer: Viewer): string | null {
    return this.#giveTo(viewer, 'exception', this.#event.exception)
  }

  folded_exception(_: unknown, viewer: Viewer): string | null {
    const { exception } = this.#event
    return this.#giveTo(viewer, 'folded_exception', exception === null ? null : foldStack(exception))
  }

  /** Returns content, which a query may ask for under many names. */
  #giveTo<T>(viewer: Viewer, field: string, value: T): T | null {
    const isAgain = viewer.seesContent && value !== null && this.#given.has(field)
    this.#given.add(field)
    return isAgain && !this.#sources.ofQuery.spendAgain(this.#bytes) ? null : contentFor(viewer, value)
  }
}

/** @throws HostError `REQUEST_INVALID` naming the argument and its limits */
export function between(name: string, value: number, max: number, min = 1): number {
  if (value >= min && value <= max) return value
  throw badRequest(`${name} must be from ${min} to ${max}, not ${value}.`)
}

type Position = Pick<EventsQuery, 'after' | 'below'>

/** The number of the last event; with runs below, ` <run id>:<number>` for each of theirs. Null where nothing was read. */
function writeCursor(from: Position, events: EventsPage['events']): string | null {
  let { after } = from
  const below = { ...from.below }
  for (const event of events) {
    if (event.below === undefined) after = event.index
    else below[event.below] = event.index
  }
  return after === -1 ? null : [after, ...Object.entries(below).map((each) => each.join(':'))].join(' ')
}

function readCursor(cursor: string): Position {
  const [own, ...others] = cursor.split(' ')
  const below = others.map((each) => {
    const [runId = '', index] = each.split(':')
    return [runId, Number(index)] as const
  })
  const numbers = [Number(own), ...below.map(([, index]) => index)]
  if (numbers.every((index) => Number.isInteger(index) && index >= 0)) {
    return { after: Number(own), ...(below.length > 0 ? { below: Object.fromEntries(below) } : {}) }
  }
  throw badRequest(`after must be the cursor of a page, not '${cursor}'.`)
}
