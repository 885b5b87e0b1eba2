import { messageOf, type Run, type Storage } from 'agent-host'
import type { FlatVectors } from './flat-vectors.ts'
import type { VectorRecords } from './vector-records.ts'

const LOG = 'vectors'
const PAGE = 200
/** Time after which all servers have read that a vector is gone. */
const FORGET_MS = 24 * 60 * 60 * 1000

/** A vector that was added, as base64, or, without it, one that is gone. */
interface LogEntry {
  readonly id: string
  readonly vector?: string
  /** Unix time in milliseconds. */
  readonly at: number
}

/**
 * The vectors of an index in the storage of the module: a log of additions and removals. Every server that shares it reads
 * the new entries, and so has the same vectors in memory.
 */
export class VectorLog implements VectorRecords {
  readonly #storage: Storage
  readonly #warn: (message: string) => void
  /** Key of the log entry that holds a vector. */
  readonly #keys = new Map<string, string>()
  #last: string | undefined
  #turn: Promise<void> = Promise.resolve()

  /** @param warn of entries that cannot be read, which are left out */
  constructor(storage: Storage, warn: (message: string) => void) {
    this.#storage = storage
    this.#warn = warn
  }

  refresh(vectors: FlatVectors, run: Run): Promise<void> {
    const reading = this.#turn.then(() => this.#readOn(vectors, run))
    this.#turn = reading.catch(() => {})
    return reading
  }

  async insert(id: string, vector: Float32Array, vectors: FlatVectors, run: Run): Promise<void> {
    const old = this.#keys.get(id)
    const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
    await this.#append({ id, vector: bytes.toString('base64'), at: Date.now() }, vectors, run)
    // Another server may have begun the index with vectors of another length meanwhile.
    if (this.#keys.get(id) === old) vectors.check(vector)
    if (old !== undefined) await this.#storage.delete(old, run)
  }

  async delete(id: string, vectors: FlatVectors, run: Run): Promise<boolean> {
    const key = this.#keys.get(id)
    if (key === undefined) return false
    await this.#append({ id, at: Date.now() }, vectors, run)
    await this.#storage.delete(key, run)
    return true
  }

  close(): void {}

  /** Appends an entry. The last entry about a vector wins, also when two servers write at once: own entries are read back like others. */
  async #append(entry: LogEntry, vectors: FlatVectors, run: Run): Promise<void> {
    await this.#storage.append(LOG, entry, run)
    await this.refresh(vectors, run)
  }

  async #readOn(vectors: FlatVectors, run: Run): Promise<void> {
    for (let count = PAGE; count === PAGE; ) {
      const page = await this.#storage.list({ prefix: `${LOG}/`, limit: PAGE, after: this.#last }, run)
      for (const { key, value } of page) {
        if (this.#apply(key, value as LogEntry, vectors)) await this.#storage.delete(key, run)
        this.#last = key
      }
      count = page.length
    }
  }

  /** @returns whether all servers have read the entry, so that it can go */
  #apply(key: string, entry: LogEntry, vectors: FlatVectors): boolean {
    try {
      const { id, vector, at } = entry
      if (vector === undefined) {
        vectors.delete(id)
        this.#keys.delete(id)
        return Date.now() - at > FORGET_MS
      }
      vectors.set(id, new Float32Array(new Uint8Array(Buffer.from(vector, 'base64')).buffer))
      this.#keys.set(id, key)
    } catch (error) {
      this.#warn(`The vector in '${key}' is left out: ${messageOf(error)}`)
    }
    return false
  }
}
