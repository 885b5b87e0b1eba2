import { setImmediate } from 'node:timers/promises'
import { badRequest } from '../../../../errors.ts'
import { getOrAdd } from '../../../../get-or-add.ts'
import type { Viewer } from '../viewer.ts'

/** Maximum of one query. */
const MAX_FILES = 10
const TOO_MANY = `A query reads ${MAX_FILES} large files at most: ask for the others in another one.`

/** Maxima of the events in the answer to one query; a single page is always read. */
const MAX_EVENTS = 10_000
const MAX_EVENT_MIB = 64
/** Weight of content that a query asks for again, under another name: it tells nothing new. */
const AGAIN = 8
/** Part of them for a viewer who sees no content. */
const UNSEEN_SHARE = 1 / 10
const MOST = `${MAX_EVENTS} events at most, or ${MAX_EVENT_MIB} MiB of them (a tenth without their content)`
const TOO_MANY_EVENTS = `A query answers with ${MOST}: ask for fewer runs or events in one query.`

/** Events as a query answers them. */
export interface EventViews {
  readonly events: readonly object[]
  /** Of the lines that were read for it. */
  readonly bytes: number
}

/** Events of one query: each page is read once, and counts each time that the answer has it. */
export class QueryEvents {
  readonly #pages = new Map<string, Promise<EventViews>>()
  readonly #share: number
  #count = 0
  #bytes = 0
  #hasFailed = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor({ seesContent }: Viewer) {
    this.#share = seesContent ? 1 : UNSEEN_SHARE
  }

  /**
   * Returns a page; one after another.
   *
   * @param name tells pages apart
   * @throws HostError `REQUEST_INVALID` after pages with too many events
   */
  read<T extends EventViews>(name: string, read: () => Promise<T>): Promise<T> {
    const reading = this.#turn.then(async () => {
      // Parsing the last page has blocked the event loop: other requests get their turn.
      await setImmediate()
      if (this.#isSpent) throw badRequest(TOO_MANY_EVENTS)
      const page = (await getOrAdd(this.#pages, name, () => this.#read(read))) as T
      this.#count += page.events.length
      return page
    })
    this.#turn = reading.catch(() => {})
    return reading
  }

  /**
   * Counts content that becomes part of the answer again.
   *
   * @returns false for what has no room
   * @throws HostError `REQUEST_INVALID` the first time, as each error costs more than a field
   */
  spendAgain(bytes: number): boolean {
    this.#bytes += AGAIN * bytes
    if (this.#isSpent && !this.#hasFailed) {
      this.#hasFailed = true
      throw badRequest(TOO_MANY_EVENTS)
    }
    return !this.#isSpent
  }

  async #read(read: () => Promise<EventViews>): Promise<EventViews> {
    const page = await read()
    this.#bytes += page.bytes
    return page
  }

  get #isSpent(): boolean {
    return this.#count > MAX_EVENTS * this.#share || this.#bytes > MAX_EVENT_MIB * 1024 * 1024 * this.#share
  }
}

/** Large files that queries read: each once for a query, however often that names it, and one after another. */
export class LargeReads {
  readonly #ofQueries = new WeakMap<Viewer, Map<string, Promise<unknown>>>()
  readonly #eventsOfQueries = new WeakMap<Viewer, QueryEvents>()
  readonly #madeForQueries = new WeakMap<Viewer, Map<object, Promise<unknown>>>()
  #reading: Promise<unknown> = Promise.resolve()
  #making: Promise<unknown> = Promise.resolve()

  /** @param viewer of the query: each has its own */
  events(viewer: Viewer): QueryEvents {
    return getOrAdd(this.#eventsOfQueries, viewer, () => new QueryEvents(viewer))
  }

  /**
   * Returns what was read for this query, or reads it.
   *
   * @param viewer of the query: each has its own
   * @param name tells files apart; the same one is always read alike
   * @throws HostError `REQUEST_INVALID` for the eleventh file of a query
   */
  read<T>(viewer: Viewer, name: string, read: () => Promise<T>): Promise<T> {
    const known = getOrAdd(this.#ofQueries, viewer, () => new Map<string, Promise<unknown>>())
    const found = known.get(name)
    if (found) return found as Promise<T>
    if (known.size === MAX_FILES) throw badRequest(TOO_MANY)
    const file = this.#reading.then(read)
    known.set(name, file)
    this.#reading = file.catch(() => {})
    return file
  }

  /**
   * Returns the value that was made for this query, or makes it. Values are made one at a time, each in a turn of the event loop of its own.
   *
   * @param viewer of the query: each query has its own
   * @param of what the value is made of; the same object always makes the same value
   */
  make<T>(viewer: Viewer, of: object, make: () => T): Promise<T> {
    const known = getOrAdd(this.#madeForQueries, viewer, () => new Map<object, Promise<unknown>>())
    return getOrAdd(known, of, () => {
      const made = this.#making.then(() => setImmediate()).then(make)
      this.#making = made.catch(() => {})
      return made
    }) as Promise<T>
  }
}
