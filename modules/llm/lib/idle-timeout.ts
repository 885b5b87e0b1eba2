/** Limits of a wait, in seconds. */
export interface IdleLimits {
  /** Without a byte from the vendor. */
  readonly timeout: number
  /** Without a part of the answer, whatever else arrives. */
  readonly part_timeout: number
}

/** In seconds: a timer of Node that is set to more ends at once. */
export const LONGEST_TIMER = 2_147_483

/** Event of {@link IdleTimeout.signal}: bytes have arrived. The SDK tells its fetch nothing else about a call. */
export const BYTES = 'bytes'

/** Aborts a wait that reaches one of its limits. Time counts only from `begin` to `end`. */
export class IdleTimeout {
  readonly #limits: IdleLimits
  readonly #controller = new AbortController()
  /** Aborts with the run, too. */
  readonly signal: AbortSignal
  #bytes: NodeJS.Timeout | undefined
  #part: NodeJS.Timeout | undefined
  /** The limit that was reached. */
  spent: keyof IdleLimits | undefined

  constructor(limits: IdleLimits, run: AbortSignal) {
    this.#limits = limits
    this.signal = AbortSignal.any([this.#controller.signal, run])
    this.signal.addEventListener(BYTES, () => this.#bytes?.refresh())
  }

  begin(): void {
    this.end()
    this.#bytes = this.#start('timeout')
    this.#part = this.#start('part_timeout')
  }

  end(): void {
    clearTimeout(this.#bytes)
    clearTimeout(this.#part)
    this.#bytes = undefined
  }

  async limit<T>(promise: PromiseLike<T>): Promise<T> {
    this.begin()
    try {
      return await promise
    } finally {
      this.end()
    }
  }

  #start(limit: keyof IdleLimits): NodeJS.Timeout {
    return setTimeout(() => {
      this.spent = limit
      this.#controller.abort()
    }, this.#limits[limit] * 1000)
  }
}
