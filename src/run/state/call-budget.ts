/** Number of calls of its own tools that a run may still make. */
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
    return `Not executed: the request allows ${this.#limit} tool calls, which are made. Answer without further calls.`
  }
}
