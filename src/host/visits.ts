import { AsyncLocalStorage } from 'node:async_hooks'
import { HostError } from '../errors.ts'
import { isCalled } from '../protocols/callable-agent.ts'
import type { LimitHolder, RunQuota } from '../run/state/run-quota.ts'
import { adviseOn, describeMissing } from '../wiring/named-keys.ts'

/** Tells whether an agent exists for a visitor, by its id or by a name of one of its entry points. */
export interface Sees {
  (agent: string): boolean
  /** Name of the key of the visitor: what it makes that is of no agent is its own. */
  readonly key?: string | undefined
}

/** Request that is being served: what exists for its sender, and what that may start. */
export interface Visit {
  /** Undefined for a visitor for whom every agent exists. */
  readonly sees: Sees | undefined
  /** User that the runs which it begins are for; undefined where requests name theirs. */
  readonly user?: string | undefined
  /** Undefined for a visitor without limits. */
  readonly ticket?: Ticket | undefined
  /** Name of the key, or `jwt:<sub>`; undefined where none is known. */
  readonly key?: string | undefined
  /** Undefined where no audit log is written, and for work without a request. */
  readonly source?: Source | undefined
}

/** Request, for the audit log. */
export interface Source {
  readonly requestId: string
  readonly address: string
}

/** Right to start one run: the stored counts are changed before it is used. */
export interface Ticket {
  /** Returns itself to its first user, and a ticket of its own to every other. */
  claim(): Ticket
  /** @throws LimitReached; HostError `STORE_UNAVAILABLE` */
  prepare(): Promise<void>
  /**
   * Uses it for a run that begins in this process.
   *
   * @throws LimitReached; the error that its preparation has failed with
   */
  take(): RunQuota
  /**
   * Uses it for a run in the background, which any server may carry out.
   *
   * @throws as {@link Ticket.prepare}
   */
  accept(runId: string): Promise<RunQuota>
  /** Gives it back, unless it was used. */
  giveBack(): void
}

/** Counts of everyone who has limits. */
export interface Limiter {
  /** Returns a ticket that is not prepared. */
  ticketFor(holders: readonly LimitHolder[]): Ticket
  /** Returns the place of a run in the background that was accepted before. */
  resume(holders: readonly LimitHolder[], runId: string): RunQuota
}

/**
 * The visit that the code which runs at this moment belongs to. It is ambient, unlike a run: an adapter of a project cannot forget to hand it
 * on. Only requests of visitors with limited rights are visits: all others do without, and pay nothing.
 */
export class Visits {
  readonly #visits = new AsyncLocalStorage<Visit>()
  /** Opens the counts at first use; absent where no project is open. */
  openLimiter: (() => Promise<Limiter>) | undefined
  /** Returns everyone with limits of a key and its tenant; absent where no file of keys has any. */
  holdersOf: ((tenant: string, key: string | undefined) => readonly LimitHolder[]) | undefined

  /** Tells whether the file of keys has a key that is in force; absent where there is no such file. */
  hasKey: ((tenant: string, key: string) => boolean) | undefined

  /** Undefined for a visitor with all rights, and for the work of the server itself. */
  get current(): Visit | undefined {
    return this.#visits.getStore()
  }

  /** Does work of a visit; what it begins belongs to the visit, too. */
  enter<T>(visit: Visit, work: () => T): T {
    return this.#visits.run(visit, work)
  }

  /** Does work that is not the visitor's, although its request brought it about. */
  leave<T>(work: () => T): T {
    return this.#visits.exit(work)
  }

  /**
   * Does work that no key has asked for: what it starts counts for the key that is named, and for the tenant.
   *
   * @throws HostError `KEY_MISSING` for a key that is not in force
   */
  async onBehalf<T>(tenant: string, key: string | undefined, work: () => Promise<T>): Promise<T> {
    if (key !== undefined && this.hasKey?.(tenant, key) === false) {
      const suggestions = [adviseOn(tenant, key)]
      throw new HostError('KEY_MISSING', `Nothing starts: ${describeMissing(tenant, key)}.`, { suggestions })
    }
    return this.enter({ sees: undefined, key, source: this.current?.source }, () => this.chargedTo(tenant, key, work))
  }

  /** Does work of a visit: what it starts counts for another key, and for the tenant. A key that is no longer in force has no limits. */
  async chargedTo<T>(tenant: string, key: string | undefined, work: () => Promise<T>): Promise<T> {
    const holders = this.holdersOf?.(tenant, key) ?? []
    const limiter = holders.length > 0 ? await this.openLimiter?.() : undefined
    return this.enter({ ...this.current, sees: undefined, ticket: limiter?.ticketFor(holders) }, work)
  }

  /**
   * Does work that starts a run, once the limits of the visitor allow that.
   *
   * @returns no promise of its own where there are none
   * @throws as {@link Ticket.prepare}
   */
  admitted<T>(work: () => T): T | Promise<Awaited<T>> {
    const visit = this.current
    return visit?.ticket ? this.#admitted(visit, visit.ticket.claim(), work) : work()
  }

  async #admitted<T>(visit: Visit, ticket: Ticket, work: () => T): Promise<Awaited<T>> {
    await ticket.prepare()
    try {
      return await this.enter({ ...visit, ticket }, work)
    } finally {
      ticket.giveBack()
    }
  }
}

/**
 * Returns the check of globs such as `support-*`.
 *
 * @param key name of the key that they are of
 */
export function seeing(globs: readonly string[], key?: string): Sees {
  const known = new Map<string, boolean>()
  const sees = (name: string) => {
    const isKnown = known.get(name)
    if (isKnown !== undefined) return isKnown
    const [id = name] = name.split('/')
    const isSeen = isCalled({ name: id }, globs)
    // Requests may name what they like, as long as they like.
    if (known.size < MAX_KNOWN && name.length <= MAX_NAME) known.set(name, isSeen)
    return isSeen
  }
  return Object.assign(sees, { key })
}

const MAX_KNOWN = 10_000
/** Characters of an agent's id and a module's, with room. */
const MAX_NAME = 300
