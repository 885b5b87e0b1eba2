import { type HostError, hasCode } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import { RecentlyUsed } from '../../recently-used.ts'

/** Rows of lists and sweeps that are left out since they cannot be read: each is named in the log once. */
export class UnreadableRows {
  readonly #log: Pick<Log, 'warn'>
  readonly #named = new RecentlyUsed<true>({ maxItems: 10_000 })

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  /** Reads a row of a list; undefined for one that cannot be read. */
  async read<T>(read: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await read()
    } catch (error) {
      if (!isUnreadable(error)) throw error
      if (!this.#named.get(error.message)) this.#log.warn(`Left out a record: ${error.message}`)
      this.#named.set(error.message, true)
      return undefined
    }
  }
}

export function isUnreadable(error: unknown): error is HostError {
  return hasCode(error, 'RECORD_UNREADABLE')
}

export function ignoreUnreadable(error: unknown): undefined {
  if (!isUnreadable(error)) throw error
}
