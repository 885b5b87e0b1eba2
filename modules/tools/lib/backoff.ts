import { setTimeout as wait } from 'node:timers/promises'

const FIRST_MS = 500
/** Longest pause between two attempts. */
export const LAST_MS = 30_000

/** Pauses between attempts to reach something that is away: each twice as long as the one before. */
export class Backoff {
  readonly #signal: AbortSignal
  #failures = 0

  /** @param signal ends all attempts */
  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  get hasFailed(): boolean {
    return this.#failures > 0
  }

  get pauseMs(): number {
    return Math.min(FIRST_MS * 2 ** this.#failures, LAST_MS)
  }

  noteFailure(): void {
    this.#failures++
  }

  noteSuccess(): void {
    this.#failures = 0
  }

  /** Makes an attempt after the pause. It says by itself what went wrong. */
  later(attempt: () => Promise<unknown> | undefined): void {
    wait(this.pauseMs, undefined, { signal: this.#signal, ref: false })
      .then(attempt, () => {})
      .catch(() => {})
  }
}
