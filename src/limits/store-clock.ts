import type { RecordStore } from '../store/record-store.ts'

const SYNC_EVERY_MS = 10_000
/** Difference that no slow network explains. */
const JUMP_MS = 2000

/** The clock of a store, between two looks at it that of this process, which never jumps. */
export class StoreClock {
  readonly #records: Pick<RecordStore, 'now'>
  #offsetMs = Number.NaN
  #syncedMs = Number.NEGATIVE_INFINITY
  #syncing: Promise<void> | undefined
  /** Number of times that the clock of the store was seen to jump. */
  jumps = 0

  constructor(records: Pick<RecordStore, 'now'>) {
    this.#records = records
  }

  /** Milliseconds since the epoch. */
  async now(): Promise<number> {
    if (performance.now() - this.#syncedMs > SYNC_EVERY_MS) {
      this.#syncing ??= this.#sync().finally(() => {
        this.#syncing = undefined
      })
      await this.#syncing
    }
    return performance.now() + this.#offsetMs
  }

  async #sync(): Promise<void> {
    const askedMs = performance.now()
    const storeMs = await this.#records.now()
    const answeredMs = performance.now()
    const offsetMs = storeMs - (askedMs + answeredMs) / 2
    if (Math.abs(offsetMs - this.#offsetMs) > JUMP_MS + (answeredMs - askedMs) / 2) this.jumps++
    this.#offsetMs = offsetMs
    this.#syncedMs = answeredMs
  }
}
