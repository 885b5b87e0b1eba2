/** Aborts a wait after too much silence. Time counts only from `begin` to `end`. */
export class IdleTimeout {
  readonly #timeoutMs: number
  readonly #controller = new AbortController()
  /** Aborts with the run, too. */
  readonly signal: AbortSignal
  #timer: NodeJS.Timeout | undefined

  constructor(seconds: number, run: AbortSignal) {
    this.#timeoutMs = seconds * 1000
    this.signal = AbortSignal.any([this.#controller.signal, run])
  }

  get isTooLong(): boolean {
    return this.#controller.signal.aborted
  }

  begin(): void {
    this.end()
    this.#timer = setTimeout(() => this.#controller.abort(), this.#timeoutMs)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  async limit<T>(promise: PromiseLike<T>): Promise<T> {
    this.begin()
    try {
      return await promise
    } finally {
      this.end()
    }
  }
}
