/** Code of the error that `STORE_UNAVAILABLE` is caused by when the files of the store were removed. */
export const STORE_REMOVED = 'STORE_REMOVED'

/** Prepares a store that is being opened, or refuses it. */
export type Prepare = (store: RecordStore) => Promise<void>

/** One change to a record: its new value as JSON text, or undefined to remove it. */
export type Change = readonly [key: string, value: string | undefined]

/** A key and its value as JSON text. */
export type Entry = readonly [key: string, value: string]

/** Conditions of a commit. */
export interface Guards {
  /** Keys that must exist. */
  readonly present?: readonly string[]
  /** Prefixes under which no key may exist. */
  readonly absent?: readonly string[]
  /**
   * Records that must have this value, character by character. It fences: an owner that was replaced while it was paused
   * does not find its own mark any more, and writes nothing.
   */
  readonly equal?: readonly Entry[]
}

/** A range of keys: those that begin with `prefix`, in the order of their bytes. */
export interface KeyRange {
  readonly prefix: string
  /** Only keys after this one, exclusive. */
  readonly after?: string
  /** Only keys before this one, exclusive. */
  readonly before?: string
  /** Default: ascending. */
  readonly order?: 'asc' | 'desc'
  readonly limit: number
}

export type AscendingRange = Omit<KeyRange, 'order'>

/**
 * Records that outlive a request: JSON texts by key, changed together.
 *
 * Every method fails with HostError `STORE_UNAVAILABLE` when the backend fails, or does not answer in time. A commit that
 * failed in this way may have happened. Keys and topics consist of visible ASCII characters.
 */
export interface RecordStore {
  /** Name of this server among those that share the store; a new one each time that the store is opened. */
  readonly serverId: string
  /** Returns the values of the keys, in their order; undefined for those that do not exist. */
  get(keys: readonly string[]): Promise<(string | undefined)[]>
  /** Returns the keys of a range. */
  list(range: KeyRange): Promise<string[]>
  /** Returns the keys of a range with their values. */
  entries(range: KeyRange): Promise<Entry[]>
  /** Returns the entries of several ranges, ascending: one request to the backend reads them all. */
  entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]>
  /**
   * Applies all changes or none, durably: a commit survives the death of the process at any instant. A backend
   * without transactions makes them in their order: the writer puts what makes the rest visible last, and removes it
   * first.
   *
   * @param notify topics whose watchers are woken when the commit has happened
   * @returns false when the guards do not hold; nothing is changed then
   */
  commit(changes: readonly Change[], guards?: Guards, notify?: readonly string[]): Promise<boolean>
  /**
   * Calls back after commits that name one of the topics, by any server, from the call of this method on; also without a
   * reason, and once after a gap in which calls may have been lost. A slow poll remains the caller's safety net.
   *
   * @returns a function that ends it
   */
  watch(topics: readonly string[], onNotice: () => void): () => void
  /**
   * Returns false for a server that has closed the store, whose process has ended on this machine, or that has given no
   * new sign of life for ten seconds.
   */
  isServerAlive(serverId: string): Promise<boolean>
  /** Returns the time of the backend, in milliseconds since the epoch: one clock for all servers that share it. */
  now(): Promise<number>
  /**
   * Erases deleted records from every file, if the backend can do that. SQLite does it by itself a moment
   * after a removal; here at once, unless others read.
   */
  purge(): Promise<void>
  /** Waits for work in progress. The store cannot be used afterwards. */
  close(): Promise<void>
}
