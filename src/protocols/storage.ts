import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** A key with its value. */
export interface StoredValue {
  readonly key: string
  readonly value: unknown
}

/** Range of keys. */
export interface StorageRange {
  /** Beginning of the keys. */
  readonly prefix: string
  /** Only keys after this one, exclusive. */
  readonly after?: string
  /** By the bytes of the keys. Default: ascending. */
  readonly order?: 'asc' | 'desc'
  /** Maximum number of values. */
  readonly limit: number
}

/**
 * Records of one module of one agent, in the store of the project: other modules and agents have theirs, and so has each tenant, by the
 * run of the call. A call without a run, from a module that lives longer than a run, is about records of no tenant. Where servers share the store
 * (`context.hasSharedStore`), all of them have the same records. A change is durable, and seen by all servers, when its promise is
 * fulfilled.
 *
 * Keys consist of up to 400 letters, digits and `- _ . ~ / : @ % = + ,`; others are a TypeError. Values are JSON,
 * a few hundred kilobytes at most. Every method fails with HostError `STORE_UNAVAILABLE` while the store does not answer; a change
 * that failed in this way may have happened.
 *
 * @example
 * ```ts
 * export const visits = defineModule({
 *   name: 'Visits',
 *   provides: [TextMessageHandler],
 *   uses: { storage: Storage, response: Response },
 *   create: ({ storage, response }) => ({
 *     async handleText(_text, run) {
 *       for (;;) {
 *         const before = await storage.get('visits', run)
 *         const count = Number(before ?? 0) + 1
 *         // Another server may have counted meanwhile.
 *         if (await storage.replace('visits', before, count, run)) return response.respondText(`Visit ${count}.`)
 *       }
 *     },
 *   }),
 * })
 * ```
 */
export interface Storage {
  /**
   * Returns the value; `undefined` for an unknown key.
   *
   * @remarks Modules call these methods when they like.
   * @throws TypeError for a key or a value that cannot be stored; HostError `STORE_UNAVAILABLE` while the store does not answer. This holds for all methods
   */
  get(key: string, run?: Run): Promise<unknown>
  /** Sets or replaces a value. */
  set(key: string, value: unknown, run?: Run): Promise<void>
  /** Removes a value. An unknown key is no error. */
  delete(key: string, run?: Run): Promise<void>
  /** Returns keys with their values, in the order of the keys. */
  list(range: StorageRange, run?: Run): Promise<StoredValue[]>
  /**
   * Replaces a value that is still the expected one, as `get` or `list` returned it.
   *
   * @param expected `undefined` for a key that must not exist
   * @param value `undefined` to remove the key
   * @returns false when the value is another by now; nothing is changed then
   */
  replace(key: string, expected: unknown, value: unknown, run?: Run): Promise<boolean>
  /**
   * Appends a value to a log, safely with concurrent writers: its key is `<log>/<number>`, with numbers from 0 in 12 digits.
   * A reader that lists a log on from the last key that it saw misses no value, unless it was removed.
   *
   * @returns the key
   */
  append(log: string, value: unknown, run?: Run): Promise<string>
}
export const Storage = defineProtocol<Storage>('Storage', ['get', 'set', 'delete', 'list', 'replace', 'append'])

/** Module that has records of its own. */
export interface StorageOwner {
  readonly agentId: string
  readonly moduleId: string
}

/** Source of the storage of every module of a host. */
export interface StorageSource {
  /** True where servers on several machines have the same records. */
  readonly isShared: boolean
  /** Returns the records of a module. Opens nothing before the first call of a method. */
  storageOf(owner: StorageOwner): Storage
}
