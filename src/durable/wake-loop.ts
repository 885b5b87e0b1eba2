export interface WakeLoopOptions {
  readonly everyMs: number
  /**
   * Looks for work once.
   *
   * @returns true to look again at once
   */
  readonly look: () => Promise<boolean>
  readonly onFailure: (error: unknown) => void
  /** Calls back when there may be work. @returns what ends it */
  readonly watch?: (wake: () => void) => () => void
}

/** Looks for work when woken, and at an interval: a notice may be lost. One look at a time. */
export class WakeLoop {
  readonly #options: WakeLoopOptions
  /** True once nothing more is begun. */
  isStopped = false
  #unwatch: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> | undefined
  #isAwake = false

  constructor(options: WakeLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { watch, everyMs } = this.#options
    const wake = () => this.wake()
    this.#unwatch = watch?.(wake)
    this.#timer = setInterval(wake, everyMs).unref()
    wake()
  }

  /** Looks no more, and waits for the look under way. */
  async stop(): Promise<void> {
    this.isStopped = true
    clearInterval(this.#timer)
    this.#unwatch?.()
    await this.#working
  }

  /** Looks now, or again after the look under way. */
  wake(): void {
    this.#isAwake = true
    if (!this.isStopped) this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    try {
      while (this.#isAwake && !this.isStopped) {
        this.#isAwake = false
        if (await this.#options.look()) this.#isAwake = true
      }
    } catch (error) {
      this.#options.onFailure(error)
    } finally {
      this.#working = undefined
    }
  }
}
