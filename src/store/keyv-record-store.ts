import { randomUUID } from 'node:crypto'
import { Keyv, type KeyvStoreAdapter } from 'keyv'
import { HostError, messageOf } from '../errors.ts'
import { KeyDirectory } from './key-directory.ts'
import type { Change, Guards, KeyRange, RecordStore } from './record-store.ts'

/** What an adapter can do beside what Keyv asks for. Keys have Keyv's prefix, values are Keyv's texts. */
export interface TransactionalAdapter {
  readonly serverId: string
  commit(changes: readonly Change[], guards: Guards): Promise<boolean>
  list(range: KeyRange): Promise<string[]>
  isServerAlive(serverId: string): Promise<boolean>
  purge(): Promise<void>
}

/** A call that takes longer has failed: with its server down, a Keyv backend may never answer. */
const DEADLINE_MS = 5000

/** The contract over any Keyv backend: by its own transactions where it has them, by turns where it has none. */
export class KeyvRecordStore implements RecordStore {
  readonly serverId: string
  readonly #keyv: Keyv<string>
  readonly #backend: TransactionalAdapter

  private constructor(keyv: Keyv<string>, backend: TransactionalAdapter) {
    this.serverId = backend.serverId
    this.#keyv = keyv
    this.#backend = backend
  }

  /**
   * @param adapter a store adapter of Keyv, or a Map
   * @throws HostError `STORE_UNAVAILABLE`
   */
  static async open(adapter: KeyvStoreAdapter | Map<string, unknown>): Promise<KeyvRecordStore> {
    const keyv = new Keyv<string>({ store: adapter, serialize, deserialize, throwOnErrors: true })
    // Failures reach whoever asked; without a listener they would be thrown a second time, at nobody.
    keyv.on('error', () => {})
    const backend = isTransactional(adapter)
      ? new TransactionalBackend(adapter, `${keyv.namespace}:`)
      : await inTime(OneByOneBackend.open(keyv))
    return new KeyvRecordStore(keyv, backend)
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    keys.forEach(checkKey)
    const values = await inTime(this.#keyv.get([...keys]))
    return keys.map((_key, index) => values[index] ?? undefined)
  }

  async list(range: KeyRange): Promise<string[]> {
    return inTime(this.#backend.list(range))
  }

  async commit(changes: readonly Change[], guards: Guards = {}): Promise<boolean> {
    for (const [key] of changes) checkKey(key)
    return inTime(this.#backend.commit(changes, guards))
  }

  async isServerAlive(serverId: string): Promise<boolean> {
    return serverId === this.serverId || inTime(this.#backend.isServerAlive(serverId))
  }

  async purge(): Promise<void> {
    await inTime(this.#backend.purge())
  }

  async close(): Promise<void> {
    await inTime(this.#keyv.disconnect())
  }
}

/** An adapter with transactions: keys and values are given to it as Keyv would. */
class TransactionalBackend implements TransactionalAdapter {
  readonly serverId: string
  readonly #adapter: TransactionalAdapter
  readonly #prefix: string

  constructor(adapter: TransactionalAdapter, prefix: string) {
    this.serverId = adapter.serverId
    this.#adapter = adapter
    this.#prefix = prefix
  }

  commit(changes: readonly Change[], { present = [], absent = [] }: Guards): Promise<boolean> {
    const named = changes.map(([key, value]): Change => {
      return [this.#name(key), value === undefined ? undefined : serialize({ value })]
    })
    return this.#adapter.commit(named, {
      present: present.map((key) => this.#name(key)),
      absent: absent.map((prefix) => this.#name(prefix)),
    })
  }

  async list({ prefix, after, before, ...range }: KeyRange): Promise<string[]> {
    const keys = await this.#adapter.list({
      ...range,
      prefix: this.#name(prefix),
      ...(after === undefined ? {} : { after: this.#name(after) }),
      ...(before === undefined ? {} : { before: this.#name(before) }),
    })
    return keys.map((key) => key.slice(this.#prefix.length))
  }

  isServerAlive(serverId: string): Promise<boolean> {
    return this.#adapter.isServerAlive(serverId)
  }

  purge(): Promise<void> {
    return this.#adapter.purge()
  }

  #name(key: string): string {
    return this.#prefix + key
  }
}

/** Any other adapter: one commit at a time, its changes in their order. For one server alone. */
class OneByOneBackend implements TransactionalAdapter {
  readonly serverId = randomUUID()
  readonly #keyv: Keyv<string>
  readonly #directory: KeyDirectory
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(keyv: Keyv<string>, directory: KeyDirectory) {
    this.#keyv = keyv
    this.#directory = directory
  }

  static async open(keyv: Keyv<string>): Promise<OneByOneBackend> {
    return new OneByOneBackend(keyv, await KeyDirectory.open(keyv))
  }

  async list(range: KeyRange): Promise<string[]> {
    return this.#directory.list(range)
  }

  commit(changes: readonly Change[], guards: Guards): Promise<boolean> {
    const done = this.#turn.then(() => this.#apply(changes, guards))
    this.#turn = done.catch(() => {})
    return done
  }

  async isServerAlive(): Promise<boolean> {
    return false
  }

  async purge(): Promise<void> {}

  async #apply(changes: readonly Change[], { present = [], absent = [] }: Guards): Promise<boolean> {
    if (!present.every((key) => this.#directory.has(key))) return false
    if (absent.some((prefix) => this.#directory.list({ prefix, limit: 1 }).length > 0)) return false
    // Before its value: a key that is listed and has none is passed over, one that is not listed would be lost.
    await this.#directory.add(changes.filter(([, value]) => value !== undefined).map(([key]) => key))
    for (const [key, value] of changes) {
      if (value === undefined) await this.#keyv.delete(key)
      else if ((await this.#keyv.set(key, value)) !== true) throw new Error(`'${key}' was not written.`)
    }
    await this.#directory.remove(changes.filter(([, value]) => value === undefined).map(([key]) => key))
    return true
  }
}

/** What Keyv writes by default, without taking JSON apart that is put together already. */
function serialize({ value, expires }: { value?: unknown; expires?: number | undefined }): string {
  return expires === undefined ? `{"value":${value}}` : `{"value":${value},"expires":${expires}}`
}

const HEAD = '{"value":'

/** The JSON text of the value. What another wrote may be laid out in another way. */
function deserialize<Value>(text: string): { value?: Value } {
  const isPlain = text.startsWith(HEAD) && !text.includes('"expires":', text.length - 40)
  const value = isPlain ? text.slice(HEAD.length, -1) : JSON.stringify(JSON.parse(text).value)
  return { value: value as Value }
}

function isTransactional(adapter: unknown): adapter is TransactionalAdapter {
  return typeof (adapter as Partial<TransactionalAdapter>).commit === 'function'
}

function checkKey(key: string): void {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new HostError('REQUEST_INVALID', `'${key}' cannot be the key of a record.`)
}

async function inTime<T>(work: Promise<T>): Promise<T> {
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
