import { HostError, LimitReached } from '../errors.ts'
import type { LimitHolder, Limits } from '../run/state/run-quota.ts'
import type { RecordStore } from '../store/record-store.ts'
import { type Counts, countRuns, DAY_MS, MINUTE_MS, readCounts, renew } from './counts.ts'
import type { StoreClock } from './store-clock.ts'

/** Change of counts; what it returns is given out once the counts are stored. */
type Edit<T> = (counts: Counts, nowMs: number) => T

interface Waiting {
  readonly edit: Edit<unknown>
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** Number of attempts at a change that other servers may prevent by being quicker: one of them always succeeds. */
const MAX_ATTEMPTS = 1000
const RETRY_MS = 1000
const MAX_RETRIES = 600
/** A run is stored within this time after it was accepted. */
const STORED_WITHIN_MS = 60_000

/** Source of what counts depend on beside themselves. */
export interface AccountSources {
  /** The whole store. */
  readonly records: RecordStore
  readonly clock: StoreClock
  /** Tells whether a run in the background is still to end. */
  readonly isOpen: (runId: string, tenant: string) => Promise<boolean>
}

/**
 * The counts of one key or tenant. A server changes them by compare-and-set before it admits anything: what several requests wait for is
 * one change.
 */
export class Account {
  readonly #key: string
  readonly #tenant: string
  readonly #sources: AccountSources
  readonly #waiting: Waiting[] = []
  #isWorking = false
  /** Jumps of the clock that the counts know of. */
  #jumps = 0
  /** Runs of this server that are under way. */
  #held = 0
  limits: Limits

  constructor({ tenant, key, limits }: LimitHolder, sources: AccountSources) {
    // The end keeps one name from being the beginning of another.
    this.#key = keyOf({ tenant, key })
    this.#tenant = tenant
    this.#sources = sources
    this.#jumps = sources.clock.jumps
    this.limits = limits
  }

  /**
   * Counts a run that is to begin.
   *
   * @returns the minute that it counts in
   * @throws LimitReached; HostError `STORE_UNAVAILABLE`
   */
  async admit(): Promise<number> {
    const admitted = await this.#admit()
    if (typeof admitted === 'number') return admitted
    // Servers may have ended, and runs without a word.
    const again = admitted.limited === 'concurrent_runs' && (await this.#forgetEnded()) ? await this.#admit() : admitted
    if (typeof again === 'number') return again
    throw again
  }

  async #admit(): Promise<LimitReached | number> {
    const admitted = await this.#change((counts, nowMs) => {
      const reached = this.#findReached(counts, nowMs)
      if (reached) return reached
      counts.requests++
      this.#hold(counts, 1)
      return counts.minute
    })
    if (typeof admitted === 'number') this.#held++
    return admitted
  }

  /** Takes back {@link Account.admit} for a run that has not begun. @param minute of that */
  giveBack(minute: number): void {
    this.#release((counts) => uncount(counts, minute))
  }

  /** Ends a run that was admitted. */
  end(tokens: number): void {
    this.#release((counts) => {
      counts.tokens += tokens
    })
  }

  /** Has an admitted run count for itself, and no longer for this server, also where the store fails: {@link Account.endAccepted} then ends it. */
  async accept(runId: string): Promise<void> {
    try {
      await this.#change((counts, nowMs) => {
        counts.background[runId] = nowMs
        this.#hold(counts, -1)
      })
    } finally {
      this.#held--
    }
  }

  /** Has a run that was accepted count again, in case it was taken for ended. */
  resume(runId: string): void {
    void this.#repeat((counts, nowMs) => {
      counts.background[runId] ??= nowMs
    })
  }

  /** Ends a run in the background. @param minute of {@link Account.admit}, for a run that has not begun */
  endAccepted(runId: string, tokens: number, minute?: number): void {
    void this.#repeat((counts) => {
      delete counts.background[runId]
      uncount(counts, minute)
      counts.tokens += tokens
    })
  }

  /** @throws LimitReached */
  async admitCall(): Promise<void> {
    if (this.limits.tokens_per_day === undefined && this.limits.cost_per_day === undefined) return
    const reached = await this.#change((counts, nowMs) => this.#findSpent(counts, nowMs))
    if (reached) throw reached
  }

  /** @throws HostError `STORE_UNAVAILABLE`: it is counted once the store answers again */
  spend(tokens: number, cost: number): Promise<void> {
    return this.#repeat((counts) => {
      counts.tokens += tokens
      counts.cost += cost
    })
  }

  #findReached(counts: Counts, nowMs: number): LimitReached | undefined {
    const { requests_per_minute: requests = Number.POSITIVE_INFINITY, concurrent_runs: runs } = this.limits
    if (counts.requests >= requests)
      return this.#reached('requests_per_minute', (counts.minute + 1) * MINUTE_MS - nowMs)
    if (runs !== undefined && countRuns(counts) >= runs) return this.#reached('concurrent_runs', 1000)
    return this.#findSpent(counts, nowMs)
  }

  #findSpent(counts: Counts, nowMs: number): LimitReached | undefined {
    const { tokens_per_day: tokens = Number.POSITIVE_INFINITY, cost_per_day: cost = Number.POSITIVE_INFINITY } =
      this.limits
    const leftMs = (counts.day + 1) * DAY_MS - nowMs
    if (counts.tokens >= tokens) return this.#reached('tokens_per_day', leftMs)
    return counts.cost >= cost ? this.#reached('cost_per_day', leftMs) : undefined
  }

  #reached(limited: keyof Limits, leftMs: number): LimitReached {
    const seconds = Math.ceil(leftMs / 1000)
    const limit = `${this.limits[limited]} ${limited.replace('cost', 'US dollars').replaceAll('_', ' ')}`
    return new LimitReached(`The limit of ${limit} is reached. Try again in ${seconds} s.`, limited, seconds)
  }

  /** @returns false when all are still there */
  async #forgetEnded(): Promise<boolean> {
    const { records, isOpen } = this.#sources
    const { servers, stored } = await this.#change(({ servers, background }, nowMs) => {
      const isStored = (id: string) => nowMs - (background[id] ?? 0) > STORED_WITHIN_MS
      return { servers: Object.keys(servers), stored: Object.keys(background).filter(isStored) }
    })
    const alive = await Promise.all(servers.map((id) => records.isServerAlive(id)))
    const open = await Promise.all(stored.map((id) => isOpen(id, this.#tenant)))
    await this.#change((counts) => {
      for (const [index, id] of servers.entries()) if (!alive[index]) delete counts.servers[id]
      for (const [index, id] of stored.entries()) if (!open[index]) delete counts.background[id]
    })
    return alive.includes(false) || open.includes(false)
  }

  #release(edit: Edit<void>): void {
    this.#held--
    void this.#repeat(edit)
  }

  /** Makes a change that must happen once the store answers again. @returns the first attempt, which need not be awaited */
  #repeat(edit: Edit<void>, attempt = 1): Promise<void> {
    const changing = this.#change(edit)
    changing.catch(() => {
      if (attempt < MAX_RETRIES) setTimeout(() => void this.#repeat(edit, attempt + 1), RETRY_MS).unref()
    })
    return changing
  }

  #change<T>(edit: Edit<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ edit, resolve, reject })
      if (!this.#isWorking) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      try {
        const results = await this.#commit(batch.map(({ edit }) => edit))
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as never)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      // Those who were answered note what they hold before it is written again.
      await undefined
    }
    this.#isWorking = false
  }

  async #commit(edits: readonly Edit<unknown>[]): Promise<unknown[]> {
    const { records, clock } = this.#sources
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const [before] = await records.get([this.#key])
      const nowMs = await clock.now()
      const { jumps } = clock
      const counts = readCounts(this.#key, before)
      renew(counts, nowMs, jumps !== this.#jumps)
      this.#hold(counts, 0)
      const results = edits.map((edit) => edit(counts, nowMs))
      const after = JSON.stringify(counts)
      const seen = before === undefined ? { absent: [this.#key] } : { equal: [[this.#key, before] as const] }
      if (after !== before && !(await records.commit([[this.#key, after]], seen))) continue
      this.#jumps = jumps
      return results
    }
    throw new HostError('STORE_UNAVAILABLE', 'The counts of a limit change all the time.')
  }

  /** Writes the number of runs of this server, which corrects an earlier change that failed. @param more runs that this change adds */
  #hold(counts: Counts, more: number): void {
    const { serverId } = this.#sources.records
    const held = more === 0 ? this.#held : (counts.servers[serverId] ?? 0) + more
    if (held > 0 && this.limits.concurrent_runs !== undefined) counts.servers[serverId] = held
    else delete counts.servers[serverId]
  }
}

function uncount(counts: Counts, minute: number | undefined): void {
  if (counts.minute === minute) counts.requests = Math.max(0, counts.requests - 1)
}

/** Key of the counts of a holder. */
export function keyOf({ tenant, key }: Pick<LimitHolder, 'tenant' | 'key'>): string {
  const names = key === undefined ? [tenant] : [tenant, key]
  return `limit:${names.map(encodeURIComponent).join('/')}:`
}
