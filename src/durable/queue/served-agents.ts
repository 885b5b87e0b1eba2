import type { RunQueue } from './run-queue.ts'

const LOOK_EVERY_MS = 2 * 60 * 1000
/** Time without a sign that a server has its agent after which a waiting run is abandoned. */
const ABANDONED_MS = 10 * 60 * 1000
/** Number of the oldest waiting runs that one look reads. */
const MAX_RUNS = 1000

/**
 * Agents that servers have, as far as runs wait for them: a server that has such an agent stamps it in the store, and
 * one that has not sees the stamp change. Where nothing waits, nothing is written.
 */
export class ServedAgents {
  readonly #queue: RunQueue
  readonly #has: (agent: string) => boolean
  readonly #now: () => number
  /** Waiting runs whose agent this server does not have: the stamp of the agent, and when it was first seen here. */
  #foreign: ReadonlyMap<string, { readonly stamp: string | undefined; readonly seenMs: number }> = new Map()
  #stamped: readonly string[] = []
  #timer: NodeJS.Timeout | undefined

  /**
   * @param has tells whether this server has an agent
   * @param now a clock in ms that never jumps
   */
  constructor(queue: RunQueue, has: (agent: string) => boolean, now = () => performance.now()) {
    this.#queue = queue
    this.#has = has
    this.#now = now
  }

  start(): void {
    // The next look makes up for one that fails.
    this.#timer = setInterval(() => this.look().catch(() => {}), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Returns true for a waiting run whose agent no server has had for ten minutes. */
  isAbandoned(id: string): boolean {
    const seenMs = this.#foreign.get(id)?.seenMs
    return seenMs !== undefined && this.#now() - seenMs >= ABANDONED_MS
  }

  /** Stamps the agents of waiting runs that this server has, and notes the stamps of the others. */
  async look(): Promise<void> {
    const waiting = (await this.#queue.waiting(MAX_RUNS)).flatMap(({ id, agent }) =>
      agent === undefined ? [] : { id, agent },
    )
    const own = [...new Set(waiting.map(({ agent }) => agent).filter((agent) => this.#has(agent)))]
    const gone = this.#stamped.filter((agent) => !own.includes(agent))
    if (own.length + gone.length > 0) await this.#queue.stampAgents(own, gone)
    this.#stamped = own
    const foreign = waiting.filter(({ agent }) => !own.includes(agent))
    const stamps = await this.#queue.readStamps(foreign.map(({ agent }) => agent))
    this.#foreign = new Map(foreign.map(({ id }, index) => [id, this.#note(id, stamps[index])]))
  }

  #note(id: string, stamp: string | undefined) {
    const known = this.#foreign.get(id)
    return known && known.stamp === stamp ? known : { stamp, seenMs: this.#now() }
  }
}
