/** Turns of the event loop that a replay gets to begin a call that had begun by then. */
const PATIENCE = 20

interface Waiting {
  readonly at: number
  readonly go: () => void
}

/** Gives out what came of the calls of a run in the order of the tape, as far as calls are open at the same time. */
export class PlayOrder {
  readonly #nextBeginning: () => number
  readonly #waiting: Waiting[] = []
  #patience = PATIENCE
  /** Calls up to this line are no longer waited for. */
  #givenUp = 0
  #isLooking = false
  /** Calls under way. */
  open = 0

  /** @param nextBeginning line of the first call that was not asked for yet; infinite where there is none */
  constructor(nextBeginning: () => number) {
    this.#nextBeginning = nextBeginning
  }

  /** Settles when it is the turn of this line; undefined if that is now. */
  turnOf(at: number): Promise<void> | undefined {
    if (this.open <= 1 && this.#waiting.length === 0 && !this.#isMissing(at)) return undefined
    return new Promise<void>((go) => {
      this.#waiting.push({ at, go })
      this.#look()
    })
  }

  /** True while a call that had begun before this line has not begun in the replay. */
  #isMissing(at: number): boolean {
    const next = this.#nextBeginning()
    return next < at && next > this.#givenUp
  }

  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    setImmediate(() => {
      this.#isLooking = false
      this.#giveOut()
    })
  }

  #giveOut(): void {
    const first = this.#waiting.reduce((least, each) => (each.at < least.at ? each : least))
    const isMissing = this.#isMissing(first.at)
    if (isMissing && this.#patience-- > 0) {
      this.#look()
      return
    }
    if (isMissing) this.#givenUp = this.#nextBeginning()
    this.#patience = PATIENCE
    this.#waiting.splice(this.#waiting.indexOf(first), 1)
    first.go()
    if (this.#waiting.length > 0) this.#look()
  }
}
