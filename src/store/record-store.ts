/** One change to a record: its new value as JSON text, or undefined to remove it. */
export type Change = readonly [key: string, value: string | undefined]

/** What must be so for a commit to happen. */
export interface Guards {
  /** Keys that must exist. */
  readonly present?: readonly string[]
  /** Prefixes under which no key may exist. */
  readonly absent?: readonly string[]
}

/** Which keys to list: those that begin with `prefix`, in the order of their bytes. */
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

/**
 * Records that outlive a request: JSON texts by key, changed together. Small, so that any backend of Keyv satisfies it.
 *
 * Every method fails with HostError `STORE_UNAVAILABLE` when the backend fails, or does not answer in time. Keys are made
 * of visible ASCII characters.
 */
export interface RecordStore {
  /** Names this server among those that share the store; a new one each time that the store is opened. */
  readonly serverId: string
  /** The values of the keys, in their order; undefined for those that do not exist. */
  get(keys: readonly string[]): Promise<(string | undefined)[]>
  /** The keys of a range. */
  list(range: KeyRange): Promise<string[]>
  /**
   * Makes all changes or none, durably: what was committed survives the death of the process at any instant. A backend
   * without transactions makes them in their order: whoever writes puts what makes the rest visible last, and removes it
   * first.
   *
   * @returns false when the guards do not hold; nothing is changed then
   */
  commit(changes: readonly Change[], guards?: Guards): Promise<boolean>
  /** Whether the server of that name still has the store open. */
  isServerAlive(serverId: string): Promise<boolean>
  /** Lets nothing of what was removed remain in any file. Done by itself a moment after a removal; here at once, unless others read. */
  purge(): Promise<void>
  /** Waits for what is under way. Nothing may be asked afterwards. */
  close(): Promise<void>
}
