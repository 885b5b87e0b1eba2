const FIRST_MS = 500
/** Longest pause between two attempts. */
const LAST_MS = 30_000

/** Pauses between attempts to reach something that is away: each twice as long as the one before. */
export class Backoff {
  readonly #signal: AbortSignal
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  /** @param signal ends all attempts */
  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true })
  }

  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /** When the next attempts follow, as a sentence. */
  get outlook(): string {
    return `Next attempt in ${this.#pauseMs / 1000} s, later ones up to ${LAST_MS / 1000} s apart.`
  }

  get #pauseMs(): number {
    return Math.min(FIRST_MS * 2 ** this.#failures, LAST_MS)
  }

  noteFailure(): void {
    this.#failures++
  }

  noteSuccess(): void {
    this.#failures = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Makes an attempt after the pause, unless one is to come already. It says by itself what went wrong. */
  later(attempt: () => Promise<unknown> | undefined): void {
    if (this.#signal.aborted) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      attempt()?.catch(() => {})
    }, this.#pauseMs).unref()
  }
}
