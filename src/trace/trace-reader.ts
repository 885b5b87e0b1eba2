import { getOrAdd } from '../get-or-add.ts'
import { blankAt, linesFromEnd, readAt, TraceFiles } from './files/trace-files.ts'
import { readTraceLine } from './files/trace-line.ts'
import type { TracedEvent } from './files/traced-event.ts'
import { type ByteRange, readLocations } from './run-index/event-locations.ts'
import { STEP_BYTES, TraceIndex } from './run-index/trace-index.ts'
import type { EventsPage, EventsQuery, ForgetQuery, LogQuery, RunLine } from './run-index/trace-query.ts'

/** Size of the part of the log searched for the latest events of an agent, from its end. */
const MAX_LOG_BYTES = 64 * 1024 * 1024
/** Events that are read at once while those that fit are looked for. */
const BATCH = 500
/** Number of indexing steps that a query waits for when older files are not indexed yet. */
const STEPS_BEFORE_ANSWER = 8
/** Minimum interval between checks of files that other processes write, unless a look around is due. */
const LOOK_AROUND_MS = 1000

/** A trace folder as it is read: never a whole file, and never more than a question needs. */
export class TraceReader {
  readonly files: TraceFiles
  readonly index: TraceIndex
  readonly #grown = new Set<string>()
  #lookedAroundMs = Number.NEGATIVE_INFINITY

  /**
   * @param dir absolute
   * @param maxBytes that the files of one agent may come to
   * @param rotates false for a command: the process that writes decides when files are rotated
   * @param onTooLong as that of {@link TraceIndex}
   */
  constructor(dir: string, maxBytes: number, rotates = true, onTooLong: (problem: string) => void = () => {}) {
    this.files = new TraceFiles(dir)
    this.index = TraceIndex.open(this.files, maxBytes, rotates, onTooLong)
  }

  /** False when the folder, or the index in it, was removed. */
  get isThere(): boolean {
    return this.index.isThere
  }

  /** Says that a file has grown. */
  noteGrown(name: string): void {
    this.#grown.add(name)
  }

  /** Has the next step check the files that other processes write, however short ago the last one did. */
  lookAround(): void {
    this.#lookedAroundMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Brings the index up to date, as far as one step goes.
   *
   * @returns whether there may be more to do
   */
  step(): boolean {
    const nowMs = performance.now()
    const isDue = nowMs - this.#lookedAroundMs >= LOOK_AROUND_MS
    const more = isDue ? this.index.readOn() : this.index.readOn([...this.#grown])
    if (more) return true
    if (isDue) this.#lookedAroundMs = nowMs
    this.#grown.clear()
    return false
  }

  /**
   * Brings the index up to date before a question, unless that would take long.
   *
   * @param ownBytes that are waited for in any case
   */
  catchUp(ownBytes = 0): void {
    const steps = STEPS_BEFORE_ANSWER + Math.ceil(ownBytes / STEP_BYTES)
    for (let step = 0; step < steps; step++) if (!this.step()) return
  }

  /** Events of a run, in their order; with those of the runs below it, by their time. */
  events({ runId, after, first, below, ...filter }: EventsQuery): EventsPage {
    const { runs } = this.index
    const isElsewhere = runs.placesOf(runId) === '' && runs.get(runId) !== undefined
    const own = this.#fromBeginning(runId, after, filter)
    const logs = below
      ? runs.below(runId).map(({ run_id: id }) => this.#fromBeginning(id, below[id] ?? -1, filter, id))
      : []
    const found: RunLine[] = []
    for (const { time: _, ...event } of merge([own, ...logs], (a, b) => a.time - b.time)) {
      if (found.length === first) return { events: found, hasMore: true, isElsewhere }
      found.push(event)
    }
    return { events: found, hasMore: false, isElsewhere }
  }

  /** The matching events of a run, in their order. */
  *#fromBeginning(
    runId: string,
    after: number,
    filter: EventFilter,
    below?: string,
  ): Generator<RunLine & { time: number }> {
    const places = readLocations(this.index.runs.placesOf(runId))
    const wanted = fieldsOf(filter)
    const tests = [`"run_id":${JSON.stringify(runId)}`, ...wanted.map(toText)]
    for (let from = after + 1; from < places.length; from += BATCH) {
      const lines = this.#linesAt(places.slice(from, from + BATCH))
      for (const [offset, line] of lines.entries()) {
        const event = line === undefined ? undefined : match(line, tests, wanted)
        if (line === undefined || !event) continue
        yield { index: from + offset, line, time: event.time, ...(below === undefined ? {} : { below }) }
      }
    }
  }

  /** The latest events of an agent, oldest first: of one tenant, or of all. */
  log({ agentId, tenant, limit, ...filter }: LogQuery): { lines: string[]; hasMore: boolean } {
    const names = tenant === undefined ? this.files.namesOf(agentId) : [this.files.nameOf(agentId, tenant)]
    const wanted = fieldsOf(filter)
    const tests = [`"agent_id":${JSON.stringify(agentId)}`, ...wanted.map(toText)]
    const logs = names.map((name) => this.#fromEnd(name, tests, wanted))
    const lines: string[] = []
    for (const found of merge(logs, (a, b) => timeOf(b) - timeOf(a))) {
      if (found === 'more' || lines.length === limit) return { lines: lines.reverse(), hasMore: true }
      lines.push(found.line)
    }
    return { lines: lines.reverse(), hasMore: false }
  }

  /** The matching events of a file and the generation before it, from the end; at last `more` where some were not searched. */
  *#fromEnd(name: string, tests: readonly string[], wanted: readonly WantedField[]): Generator<LoggedLine | 'more'> {
    let bytes = MAX_LOG_BYTES
    for (const file of [name, `${name}.1`]) {
      const size = this.files.stat(file)?.size
      if (size === undefined) continue
      for (const line of linesFromEnd(this.files.path(file), bytes)) {
        const event = match(line, tests, wanted)
        if (event) yield { line, time: event.time }
      }
      bytes -= size
      if (bytes <= 0) return yield 'more'
    }
  }

  /** Removes the traces of an agent, of one tenant or of all, and the runs in them from the index. */
  clear(agentId: string, tenant: string | undefined): void {
    const names = tenant === undefined ? this.files.namesOf(agentId) : [this.files.nameOf(agentId, tenant)]
    for (const name of names) this.files.remove(name)
    this.index.readOn()
  }

  /**
   * Removes the runs of a user, with those below them, that continue them and that replay them: their lines are overwritten.
   *
   * @returns the number of runs whose events were here; undefined while another process has yet to index some
   */
  forget(wanted: ForgetQuery): number | undefined {
    // Other processes may have written a moment ago.
    this.lookAround()
    while (this.step());
    if (!this.index.isWriter && this.index.missingBytes() > 0) return undefined
    const ids = this.index.runs.ofUser(wanted)
    const places = ids.flatMap((id) => readLocations(this.index.runs.placesOf(id)))
    const byFile = new Map<number, ByteRange[]>()
    for (const place of places) getOrAdd(byFile, place.file, () => []).push(place)
    for (const [file, lines] of byFile) {
      const name = this.index.fileName(file)
      if (name !== undefined && this.files.stat(name)) blankAt(this.files.path(name), lines)
    }
    const here = ids.filter((id) => this.index.runs.placesOf(id) !== '').length
    this.index.removeRuns(ids)
    return here
  }

  close(): void {
    this.files.close()
    this.index.close()
  }

  #linesAt(places: ReturnType<typeof readLocations>): (string | undefined)[] {
    const lines: (string | undefined)[] = []
    while (lines.length < places.length) {
      const file = places[lines.length]?.file ?? 0
      const rest = places.slice(lines.length)
      const end = rest.findIndex((place) => place.file !== file)
      const same = end === -1 ? rest : rest.slice(0, end)
      const name = this.index.fileName(file)
      // An older file that is gone takes its events with it.
      const isThere = name !== undefined && this.files.stat(name) !== undefined
      lines.push(...(isThere ? readAt(this.files.path(name), same) : same.map(() => undefined)))
    }
    return lines
  }
}

interface LoggedLine {
  readonly line: string
  readonly time: number
}

interface EventFilter {
  readonly callId?: string | undefined
  readonly moduleId?: string | undefined
  readonly methodName?: string | undefined
  readonly eventType?: string | undefined
}

type WantedField = readonly [name: keyof TracedEvent, value: string]

/** Fields that an event of a filter has. */
function fieldsOf({ callId, moduleId, methodName, eventType }: EventFilter): readonly WantedField[] {
  const wanted = { call_id: callId, module_id: moduleId, method_name: methodName, event_type: eventType }
  return Object.entries(wanted).filter((field): field is [keyof TracedEvent, string] => field[1] !== undefined)
}

/** Looks for the texts of a line first: parsing every line would cost more. */
function match(line: string, texts: readonly string[], wanted: readonly WantedField[]): TracedEvent | undefined {
  const event = texts.every((text) => line.includes(text)) ? readTraceLine(line) : undefined
  return event && wanted.every(([name, value]) => event[name] === value) ? event : undefined
}

function toText([name, value]: WantedField): string {
  return `"${name}":${JSON.stringify(value)}`
}

/** Joins logs that are each sorted. Those that are left early end, too: they hold files open. */
function* merge<T>(logs: readonly Generator<T>[], compare: (a: T, b: T) => number): Generator<T> {
  try {
    let open = logs.flatMap((log) => readHead(log))
    for (;;) {
      const [first, ...others] = open.sort((a, b) => compare(a.value, b.value))
      if (!first) return
      yield first.value
      open = [...readHead(first.log), ...others]
    }
  } finally {
    for (const log of logs) log.return(undefined)
  }
}

function readHead<T>(log: Iterator<T>): { log: Iterator<T>; value: T }[] {
  const { done, value } = log.next()
  return done ? [] : [{ log, value }]
}

function timeOf(found: LoggedLine | 'more'): number {
  return found === 'more' ? Infinity : found.time
}
