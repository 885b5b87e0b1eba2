/** Turns of the event loop that a replay gets to begin a call that had begun by then. */
const PATIENCE = 20
/** Time that it gets besides, beyond what the run had taken for that itself: the machine may be busy. */
const MIN_PATIENCE_MS = 500
/** Maximum time of a run that is waited for. */
const MAX_PATIENCE_MS = 60_000
const LOOK_EVERY_MS = 2

/** Beginning of a call on a tape. */
interface Beginning {
  /** Its line. */
  readonly at: number
  /** Since the beginning of the run. */
  readonly ms: number
}

interface Waiting {
  readonly at: number
  readonly go: () => void
}

/** Gives out what came of the calls of a run in the order of the tape, as far as calls are open at the same time. */
export class PlayOrder {
  readonly #nextBeginning: () => Beginning | undefined
  readonly #waiting: Waiting[] = []
  #patience = PATIENCE
  /** Time on the tape of what was given out last, and when that was. */
  #givenMs = 0
  #givenAtMs = performance.now()
  /** Calls up to this line are no longer waited for. */
  #givenUp = 0
  #isLooking = false
  /** Calls under way. */
  open = 0
  /** Set once the run is over: nothing is given out any more. */
  isOver = false

  /** @param nextBeginning the first call that was not asked for yet; undefined where there is none */
  constructor(nextBeginning: () => Beginning | undefined) {
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

  /** Notes what was given out. @param ms its time on the tape */
  given(ms: number): void {
    this.#givenMs = Math.max(this.#givenMs, ms)
    this.#givenAtMs = performance.now()
  }

  /** True while a call that had begun before this line has not begun in the replay. */
  #isMissing(at: number): boolean {
    const next = this.#nextBeginning()
    return next !== undefined && next.at < at && next.at > this.#givenUp
  }

  /** Looks at once, or after a while: what a branch does between its calls takes as long as it did. */
  #look(delayMs = 0): void {
    if (this.#isLooking) return
    this.#isLooking = true
    const look = () => {
      this.#isLooking = false
      this.#giveOut()
    }
    if (delayMs === 0) setImmediate(look)
    else setTimeout(look, delayMs)
  }

  /** True while the replay may still begin a call. */
  #mayBegin({ ms }: Beginning): boolean {
    const ownMs = Math.min(Math.max(0, ms - this.#givenMs), MAX_PATIENCE_MS)
    return performance.now() - this.#givenAtMs < ownMs + MIN_PATIENCE_MS
  }

  #giveOut(): void {
    if (this.isOver) return
    const first = this.#waiting.reduce((least, each) => (each.at < least.at ? each : least))
    const missing = this.#isMissing(first.at) ? this.#nextBeginning() : undefined
    const isPatient = missing !== undefined && this.#patience-- > 0
    if (isPatient || (missing && this.#mayBegin(missing))) {
      this.#look(isPatient ? 0 : LOOK_EVERY_MS)
      return
    }
    if (missing) this.#givenUp = missing.at
    this.#patience = PATIENCE
    this.#waiting.splice(this.#waiting.indexOf(first), 1)
    first.go()
    if (this.#waiting.length > 0) this.#look()
  }
}
