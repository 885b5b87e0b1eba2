import { HostError, messageOf } from '../errors.ts'
import type { Change, Entry, Guards, KeyRange, RecordStore, StoreCapabilities } from './record-store.ts'

/** A call that takes longer has failed: with its server down, a backend may never answer. */
export const DEADLINE_MS = 5000

/** A store of any kind with what all kinds have in common: keys are checked, calls have a deadline, failures a code. */
export class CheckedStore implements RecordStore {
  readonly serverId: string
  readonly capabilities: StoreCapabilities
  readonly #store: RecordStore

  constructor(store: RecordStore) {
    this.serverId = store.serverId
    this.capabilities = store.capabilities
    this.#store = store
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    keys.forEach(checkKey)
    return inTime(this.#store.get(keys))
  }

  list(range: KeyRange): Promise<string[]> {
    return inTime(this.#store.list(range))
  }

  entries(range: KeyRange): Promise<Entry[]> {
    return inTime(this.#store.entries(range))
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

  purge(): Promise<void> {
    return inTime(this.#store.purge())
  }

  close(): Promise<void> {
    return inTime(this.#store.close())
  }
}

function checkKey(key: string): void {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new HostError('REQUEST_INVALID', `'${key}' cannot be the key of a record.`)
}

/** @throws HostError `STORE_UNAVAILABLE` */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE_MS / 1000} s`)), DEADLINE_MS)
  })
  try {
    return await Promise.race([work, late])
  } catch (cause) {
    if (cause instanceof HostError) throw cause
    throw new HostError('STORE_UNAVAILABLE', `The store of responses failed: ${messageOf(cause)}`, { cause })
  } finally {
    clearTimeout(timer)
  }
}
