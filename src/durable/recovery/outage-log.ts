import { hasCode } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import { formatDuration } from '../../wire/format-duration.ts'

/** Logs once that the store cannot be used, and once that it can again: what works in the background fails every second meanwhile. */
export class OutageLog {
  readonly #log: Log
  #beganMs: number | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** @returns false for an error that has another cause */
  note(error: unknown): boolean {
    if (!hasCode(error, 'STORE_UNAVAILABLE')) return false
    if (this.#beganMs === undefined) {
      this.#beganMs = performance.now()
      this.#log.error(`${error.message}. Background responses and approvals wait until it can be used again.`)
    }
    return true
  }

  /** The store was used. */
  end(): void {
    if (this.#beganMs === undefined) return
    this.#log.info(
      `The store of responses can be used again, after ${formatDuration(performance.now() - this.#beganMs)}.`,
    )
    this.#beganMs = undefined
  }
}
