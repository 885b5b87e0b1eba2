import { randomUUID } from 'node:crypto'
import { Keyv, type KeyvStoreAdapter } from 'keyv'
import type { AscendingRange, Change, Entry, Guards, KeyRange, RecordStore } from '../record-store.ts'
import { Watchers } from '../watchers.ts'
import { KeyDirectory } from './key-directory.ts'
import { fromKeyvText, toKeyvText } from './keyv-text.ts'

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

  /** @param adapter a store adapter of Keyv, or a Map */
  static async open(adapter: KeyvStoreAdapter | Map<string, unknown>): Promise<KeyvStore> {
    const deserialize = <T>(text: string) => ({ value: fromKeyvText(text) as T })
    const keyv = new Keyv<string>({ store: adapter, serialize: toKeyvText, deserialize, throwOnErrors: true })
    // Callers get the failures; without a listener they would also be unhandled.
    keyv.on('error', () => {})
    return new KeyvStore(keyv, await KeyDirectory.open(keyv))
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

  async purge(): Promise<void> {}

  async close(): Promise<void> {
    await this.#turn
    await this.#keyv.disconnect()
  }

  async #apply(changes: readonly Change[], guards: Guards): Promise<boolean> {
    if (!(await this.#holds(guards))) return false
    // Before its value: a key that is listed and has none is passed over, one that is not listed would be lost.
    await this.#directory.add(changes.filter(([, value]) => value !== undefined).map(([key]) => key))
    for (const [key, value] of changes) {
      if (value === undefined) await this.#keyv.delete(key)
      else if ((await this.#keyv.set(key, value)) !== true) throw new Error(`'${key}' was not written.`)
    }
    await this.#directory.remove(changes.filter(([, value]) => value === undefined).map(([key]) => key))
    return true
  }

  async #holds({ present = [], absent = [], equal = [] }: Guards): Promise<boolean> {
    if (!present.every((key) => this.#directory.has(key))) return false
    // By their values: a process that died may have listed a key that it never wrote.
    if (present.length > 0 && (await this.get(present)).includes(undefined)) return false
    for (const prefix of absent) if (await this.#hasAny(prefix)) return false
    if (equal.length === 0) return true
    const values = await this.get(equal.map(([key]) => key))
    return equal.every(([, value], index) => values[index] === value)
  }

  async #hasAny(prefix: string): Promise<boolean> {
    for (let after = ''; ; ) {
      const keys = this.#directory.list({ prefix, after, limit: 100 })
      if ((await this.get(keys)).some((value) => value !== undefined)) return true
      const last = keys.at(-1)
      if (last === undefined) return false
      after = last
    }
  }
}
