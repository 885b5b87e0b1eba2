import { badRequest, HostError, messageOf } from '../errors.ts'
import type { AscendingRange, Change, Entry, Guards, KeyRange, RecordStore } from './record-store.ts'

/** A call that takes longer has failed: with its server down, a backend may never answer. */
export const DEADLINE_MS = 5000

/** A store of any kind with common behaviour: checked keys, deadlines of calls, codes of errors. */
export class CheckedStore implements RecordStore {
  readonly serverId: string
  readonly #store: RecordStore
  readonly #close: () => Promise<void>

  /** @param close closes it for this user */
  constructor(store: RecordStore, close = () => store.close()) {
    this.serverId = store.serverId
    this.#store = store
    this.#close = close
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    keys.forEach(checkKey)
    return inTime(this.#store.get(keys))
  }

  async list(range: KeyRange): Promise<string[]> {
    checkEnds(range)
    return inTime(this.#store.list(range))
  }

  async entries(range: KeyRange): Promise<Entry[]> {
    checkEnds(range)
    return inTime(this.#store.entries(range))
  }

  async entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]> {
    ranges.forEach(checkEnds)
    return inTime(this.#store.entriesOfEach(ranges))
  }

  async commit(changes: readonly Change[], guards?: Guards, notify: readonly string[] = []): Promise<boolean> {
    for (const [key] of changes) checkKey(key)
    notify.forEach(checkKey)
    return inTime(this.#store.commit(changes, guards, notify))
  }

  watch(topics: readonly string[], onNotice: () => void): () => void {
    return this.#store.watch(topics, onNotice)
  }

  async isServerAlive(serverId: string): Promise<boolean> {
    return serverId === this.serverId || inTime(this.#store.isServerAlive(serverId))
  }

  now(): Promise<number> {
    return inTime(this.#store.now())
  }

  purge(): Promise<void> {
    return inTime(this.#store.purge())
  }

  close(): Promise<void> {
    return inTime(this.#close())
  }
}

function checkKey(key: string): void {
  if (!/^[\x21-\x7e]+$/.test(key)) throw badRequest(`'${key}' cannot be the key of a record.`)
}

/** Clients name the end of a page before. */
function checkEnds({ after, before }: KeyRange): void {
  if (after !== undefined) checkKey(after)
  if (before !== undefined) checkKey(before)
}

/** @throws HostError `STORE_UNAVAILABLE` */
export function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(toUnavailable(new Error(`no answer within ${DEADLINE_MS / 1000} s`)))
    const timer = setTimeout(late, DEADLINE_MS)
    // Without `race` and `finally`: most of what a server does goes through here.
    const settle =
      <V>(pass: (value: V) => void) =>
      (value: V) => {
        clearTimeout(timer)
        pass(value)
      }
    work.then(
      settle(resolve),
      settle((cause: unknown) => reject(toUnavailable(cause))),
    )
  })
}

function toUnavailable(cause: unknown): HostError {
  if (cause instanceof HostError) return cause
  return new HostError('STORE_UNAVAILABLE', `The store of responses failed: ${messageOf(cause)}`, { cause })
}
