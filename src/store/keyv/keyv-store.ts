import { randomUUID } from 'node:crypto'
import { Keyv, type KeyvStoreAdapter } from 'keyv'
import type { AscendingRange, Change, Entry, Guards, KeyRange, RecordStore } from '../record-store.ts'
import { Watchers } from '../watchers.ts'
import { KeyDirectory } from './key-directory.ts'
import { fromKeyvText, toKeyvText } from './keyv-text.ts'

/** Beginning of the names of entries in the namespace that is Keyv's default. */
const NAMESPACE = 'keyv:'

/**
 * The contract over any backend of Keyv: one commit at a time, its changes in their order. For one server alone, as the
 * guards and the directory of keys are checked in its memory.
 */
export class KeyvStore implements RecordStore {
  readonly serverId = randomUUID()
  readonly #keyv: Keyv<string>
  readonly #directory: KeyDirectory
  readonly #watchers = new Watchers()
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(keyv: Keyv<string>, directory: KeyDirectory) {
    this.#keyv = keyv
    this.#directory = directory
  }

  /**
   * @param adapter a store adapter of Keyv, or a Map
   * @param listNames returns the names of all entries: Keyv has no way to ask for them without their values
   */
  static open(map: Map<string, unknown>): Promise<KeyvStore>
  static open(adapter: KeyvStoreAdapter, listNames: () => Promise<Iterable<string>>): Promise<KeyvStore>
  static async open(
    adapter: KeyvStoreAdapter | Map<string, unknown>,
    listNames = async () => (adapter as Map<string, unknown>).keys() as Iterable<string>,
  ): Promise<KeyvStore> {
    const deserialize = <T>(text: string) => ({ value: fromKeyvText(text) as T })
    const keyv = new Keyv<string>({ store: adapter, serialize: toKeyvText, deserialize, throwOnErrors: true })
    // Callers get the failures; without a listener they would also be unhandled.
    keyv.on('error', () => {})
    return new KeyvStore(keyv, new KeyDirectory(keysOf(await listNames())))
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    const values = await this.#keyv.get([...keys])
    return keys.map((_key, index) => values[index] ?? undefined)
  }

  async list(range: KeyRange): Promise<string[]> {
    return this.#directory.list(range)
  }

  async entries(range: KeyRange): Promise<Entry[]> {
    const keys = this.#directory.list(range)
    const values = await this.get(keys)
    return keys.flatMap((key, index) => {
      const value = values[index]
      return value === undefined ? [] : [[key, value] as const]
    })
  }

  entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]> {
    return Promise.all(ranges.map((range) => this.entries(range)))
  }

  async commit(changes: readonly Change[], guards: Guards = {}, notify: readonly string[] = []): Promise<boolean> {
    const done = this.#turn.then(() => this.#apply(changes, guards))
    this.#turn = done.catch(() => {})
    if (await done) this.#watchers.notify(notify)
    return done
  }

  watch(topics: readonly string[], onNotice: () => void): () => void {
    return this.#watchers.add(topics, onNotice)
  }

  async isServerAlive(): Promise<boolean> {
    return false
  }

  async now(): Promise<number> {
    return Date.now()
  }

  async purge(): Promise<void> {}

  async close(): Promise<void> {
    await this.#turn
    await this.#keyv.disconnect()
  }

  async #apply(changes: readonly Change[], guards: Guards): Promise<boolean> {
    if (!(await this.#holds(guards))) return false
    for (const [key, value] of changes) {
      if (value === undefined) {
        await this.#keyv.delete(key)
        this.#directory.remove(key)
      } else {
        if ((await this.#keyv.set(key, value)) !== true) throw new Error(`'${key}' was not written.`)
        this.#directory.add(key)
      }
    }
    return true
  }

  async #holds({ present = [], absent = [], equal = [] }: Guards): Promise<boolean> {
    if (!present.every((key) => this.#directory.has(key))) return false
    if (absent.some((prefix) => this.#directory.list({ prefix, limit: 1 }).length > 0)) return false
    if (equal.length === 0) return true
    const values = await this.get(equal.map(([key]) => key))
    return equal.every(([, value], index) => values[index] === value)
  }
}

/** Names of other namespaces of Keyv are not those of records. */
function* keysOf(names: Iterable<string>): Generator<string> {
  for (const name of names) if (name.startsWith(NAMESPACE)) yield name.slice(NAMESPACE.length)
}
