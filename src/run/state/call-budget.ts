const ALLOWED: readonly string[] = ['allows no tool calls', 'allows 1 tool call, and it was made']

/** Number of calls of their own tools that a run, and those that it begins, may still make. */
export class CallBudget {
  readonly #limit: number
  #made = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Takes a call; undefined if it may be made, else the text that tells the model why not. */
  take(): string | undefined {
    if (this.#made < this.#limit) {
      this.#made++
      return undefined
    }
    const allowed = ALLOWED[this.#limit] ?? `allows ${this.#limit} tool calls, and they were made`
    return `Not executed: the request ${allowed}. Answer without further calls.`
  }
}
