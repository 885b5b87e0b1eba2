import { hasEnded } from '../process-identity.ts'

/** Last sign of life of a server. */
export interface Sighting {
  /** As `describeProcess` wrote it. */
  readonly process: string
  /** By the store's clock. */
  readonly ageMs: number
}

const INTERVAL_MS = 3000
/** A server that has given no sign of life for so long is dead. */
const LEASE_MS = 10_000

/** Signs of life of this server, and its judgement of others. */
export class Heartbeat {
  readonly #beat: () => Promise<void>
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined
  #steadySince = Number.POSITIVE_INFINITY

  /**
   * @param beat writes the time of the store's clock beside this server's name
   * @param now a clock in ms that never goes back
   */
  constructor(beat: () => Promise<void>, now = () => performance.now()) {
    this.#beat = beat
    this.#now = now
  }

  /** Gives the first sign of life. Fails when the store does. */
  async start(): Promise<void> {
    await this.#beat()
    this.#steadySince = this.#now()
    this.#timer = setInterval(() => this.beat(), INTERVAL_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Gives another sign of life; a failure counts as a gap. */
  async beat(): Promise<void> {
    try {
      await this.#beat()
      this.#steadySince = Math.min(this.#steadySince, this.#now())
    } catch {
      this.#steadySince = Number.POSITIVE_INFINITY
    }
  }

  /** While the store is down nobody can give a sign of life: after that, all have the time of a lease to do so. */
  isAlive(sighting: Sighting | undefined): boolean {
    if (!sighting || hasEnded(sighting.process)) return false
    return sighting.ageMs < LEASE_MS || this.#now() - this.#steadySince < LEASE_MS
  }
}
