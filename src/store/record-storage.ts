import { causesOf, HostError, messageOf } from '../errors.ts'
import { COUNT, JSON_VALUE, object, oneOf, optional, requireGiven, TEXT } from '../given.ts'
import { parseJson } from '../json.ts'
import type { Run } from '../protocols/run.ts'
import type { Storage, StorageOwner, StorageRange, StorageSource, StoredValue } from '../protocols/storage.ts'
import type { Guards, RecordStore } from './record-store.ts'
import { tenantRecords } from './tenant-records.ts'

const OWNER = object({ agentId: TEXT, moduleId: TEXT })
const RANGE = object({ prefix: TEXT, after: optional(TEXT), order: optional(oneOf('asc', 'desc')), limit: COUNT })
const NUMBER_DIGITS = 12
/** Records of modules, and the numbers of the next entries of their logs. */
const [VALUES, COUNTERS] = ['module', 'module-log']
/**
 * End of every key in the store: guards speak of prefixes, and `a!` is no beginning of `ab!`. It comes before all characters of
 * keys, so that the order stays.
 */
const END = '!'

/** Reason of an abort: the data of the user of a run is deleted. Code that does not end with its run stores nothing more. */
export class UserForgotten extends Error {}

/**
 * Makes the storage of modules from a store of records.
 *
 * @param open called with every method: it opens the store when it is first needed
 * @param warn of damaged values, which lists leave out
 */
export function recordStorage(
  open: () => Promise<RecordStore>,
  isShared: boolean,
  warn: (message: string) => void,
): StorageSource {
  return {
    isShared,
    storageOf: (owner) => {
      requireGiven(OWNER, owner, 'owner')
      return new RecordStorage(open, owner, warn)
    },
  }
}

class RecordStorage implements Storage {
  readonly #openStore: () => Promise<RecordStore>
  readonly #owner: string
  readonly #warn: (message: string) => void
  /** The last of the values that are being added to each log, by tenant and log. */
  readonly #appending = new Map<string, Promise<void>>()

  constructor(open: () => Promise<RecordStore>, { agentId, moduleId }: StorageOwner, warn: (message: string) => void) {
    this.#openStore = open
    this.#warn = warn
    this.#owner = `${agentId}/${moduleId}`
  }

  async get(key: string, run?: Run): Promise<unknown> {
    const name = this.#nameOf(key)
    const [text] = await (await this.#open(run)).get([name])
    const value = text === undefined ? undefined : parseJson(text)
    if (text !== undefined && value === undefined) throw damaged(name)
    return value
  }

  async set(key: string, value: unknown, run?: Run): Promise<void> {
    const change = [this.#nameOf(key), toJson(value)] as const
    await (await this.#openToWrite(run)).commit([change])
  }

  async delete(key: string, run?: Run): Promise<void> {
    const name = this.#nameOf(key)
    await (await this.#open(run)).commit([[name, undefined]])
  }

  async list(range: StorageRange, run?: Run): Promise<StoredValue[]> {
    requireGiven(RANGE, range, 'range')
    const { prefix, after, order = 'asc', limit } = range
    const beginning = this.#nameOf(prefix).slice(0, -END.length)
    const start = `${VALUES}:${this.#owner}/`.length
    const store = await this.#open(run)
    const values: StoredValue[] = []
    let last = after === undefined ? undefined : this.#nameOf(after)
    for (;;) {
      const bound = last === undefined ? {} : order === 'asc' ? { after: last } : { before: last }
      const missing = limit - values.length
      const found = await store.entries({ prefix: beginning, ...bound, order, limit: missing })
      for (const [name, text] of found) {
        const value = parseJson(text)
        if (value === undefined) this.#warn(`${damaged(name).message} It is left out.`)
        else values.push({ key: name.slice(start, -END.length), value })
      }
      // A page that lacks damaged values alone is filled up: a short one is the last.
      if (found.length < missing || values.length === limit) return values
      last = found.at(-1)?.[0]
    }
  }

  async replace(key: string, expected: unknown, value: unknown, run?: Run): Promise<boolean> {
    const name = this.#nameOf(key)
    const text = value === undefined ? undefined : toJson(value)
    const guards: Guards = expected === undefined ? { absent: [name] } : { equal: [[name, toJson(expected)]] }
    const store = await (text === undefined ? this.#open(run) : this.#openToWrite(run))
    return store.commit([[name, text]], guards)
  }

  /** One at a time: those of this process need not compete with each other for a number. */
  append(log: string, value: unknown, run?: Run): Promise<string> {
    const counter = `${COUNTERS}:${this.#owner}/${checkKey(log)}${END}`
    const text = toJson(value)
    const lane = JSON.stringify([run?.tenant ?? '', log])
    const appending = (this.#appending.get(lane) ?? Promise.resolve()).then(async () =>
      this.#append(await this.#openToWrite(run), log, counter, text),
    )
    const settled = appending
      .catch(() => {})
      .then(() => {
        if (this.#appending.get(lane) === settled) this.#appending.delete(lane)
      })
    this.#appending.set(lane, settled)
    return appending
  }

  async #append(store: RecordStore, log: string, counter: string, text: string): Promise<string> {
    for (;;) {
      const [next] = await store.get([counter])
      const number = Number(next ?? 0)
      if (!Number.isSafeInteger(number)) throw damaged(counter)
      const key = `${log}/${String(number).padStart(NUMBER_DIGITS, '0')}`
      const guards: Guards = next === undefined ? { absent: [counter] } : { equal: [[counter, next]] }
      const changes = [[this.#nameOf(key), text] as const, [counter, String(number + 1)] as const]
      // Otherwise another process has taken the number.
      if (await store.commit(changes, guards)) return key
    }
  }

  async #open(run: Run | undefined): Promise<RecordStore> {
    return tenantRecords(await this.#openStore(), run?.tenant ?? '')
  }

  async #openToWrite(run: Run | undefined): Promise<RecordStore> {
    const store = await this.#open(run)
    const forgotten = run?.signal.aborted && causesOf(run.signal.reason).find((cause) => cause instanceof UserForgotten)
    if (forgotten) throw forgotten
    return store
  }

  #nameOf(key: string): string {
    return `${VALUES}:${this.#owner}/${checkKey(key)}${END}`
  }
}

function damaged(name: string): HostError {
  return new HostError('RECORD_UNREADABLE', `The stored value '${name}' is damaged.`)
}

function checkKey(key: string): string {
  if (typeof key === 'string' && /^[\w\-.~/:@%=+,]{0,400}$/.test(key)) return key
  throw new TypeError(
    `'${messageOf(key)}' cannot be a key of a module's storage: letters, digits and -_.~/:@%=+, are, 400 at most.`,
  )
}

function toJson(value: unknown): string {
  if (JSON_VALUE(value) === undefined) return JSON.stringify(value)
  throw new TypeError('A value in the storage of a module must be what JSON can say.')
}
