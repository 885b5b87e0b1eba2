import { hasEnded } from '../process-identity.ts'

/** Last sign of life of a server, as it stands in the store. */
export interface Sighting {
  readonly id: string
  /** As `describeProcess` wrote it. */
  readonly process: string
  /** Differs from that of every other heartbeat of this server. */
  readonly sign: string | number
}

/**
 * Writes a new sign for this server, and returns those of all.
 *
 * @param silent ids of servers that may be forgotten where their signs are old, too: a clock that is ahead makes all of them old
 */
type Beat = (silent: readonly string[]) => Promise<readonly Sighting[]>

const INTERVAL_MS = 3000
/** A server that gives no new sign of life for so long is dead. */
const LEASE_MS = 10_000

/**
 * Signs of life of this server, and its judgement of others: by whether their signs change, so that no clock that jumps makes one look dead.
 */
export class Heartbeat {
  readonly #beat: Beat
  readonly #now: () => number
  /** Last sign of each server, and when it was first seen here. */
  readonly #signs = new Map<string, { readonly sign: Sighting['sign']; readonly seenMs: number }>()
  #timer: NodeJS.Timeout | undefined
  #steadySince = Infinity

  /**
   * @param now a clock in ms that never jumps
   */
  constructor(beat: Beat, now = () => performance.now()) {
    this.#beat = beat
    this.#now = now
  }

  /** Gives the first sign of life. Fails when the store does. */
  async start(): Promise<void> {
    this.#noteAll(await this.#beat([]))
    this.#steadySince = this.#now()
    this.#timer = setInterval(() => this.beat(), INTERVAL_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Gives another sign of life; a failure counts as a gap. */
  async beat(): Promise<void> {
    try {
      this.#noteAll(await this.#beat(this.#silent()))
      this.#steadySince = Math.min(this.#steadySince, this.#now())
    } catch {
      this.#steadySince = Infinity
    }
  }

  /** While the store is down no server can give a sign of life: after that, all have the time of a lease to do so. */
  isAlive(sighting: Sighting | undefined): boolean {
    if (!sighting || hasEnded(sighting.process)) return false
    const seenMs = Math.max(this.#note(sighting), this.#steadySince)
    return this.#now() - seenMs < LEASE_MS
  }

  /** Ids of the servers whose signs did not change for the time of a lease. */
  #silent(): string[] {
    const before = this.#now() - LEASE_MS
    return [...this.#signs].flatMap(([id, { seenMs }]) => (Math.max(seenMs, this.#steadySince) <= before ? [id] : []))
  }

  /** Forgets the servers that are not among these. */
  #noteAll(sightings: readonly Sighting[]): void {
    for (const sighting of sightings) this.#note(sighting)
    const ids = new Set(sightings.map(({ id }) => id))
    for (const id of this.#signs.keys()) if (!ids.has(id)) this.#signs.delete(id)
  }

  /** @returns when the sign was first seen */
  #note({ id, sign }: Sighting): number {
    const known = this.#signs.get(id)
    if (known?.sign === sign) return known.seenMs
    const seenMs = this.#now()
    this.#signs.set(id, { sign, seenMs })
    return seenMs
  }
}
