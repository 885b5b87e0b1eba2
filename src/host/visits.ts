import { AsyncLocalStorage } from 'node:async_hooks'
import { isCalled } from '../protocols/callable-agent.ts'

/** Tells whether an agent exists for a visitor, by its id or by a name of one of its entry points. */
export type Sees = (agent: string) => boolean

/** Request that is being served: what exists for its sender. */
export interface Visit {
  /** Undefined for a visitor for whom every agent exists. */
  readonly sees: Sees | undefined
}

/**
 * The visit that the code which runs at this moment belongs to. It is ambient, unlike a run: an adapter of a project cannot forget to hand it
 * on. Only requests of visitors with limited rights are visits: all others do without, and pay nothing.
 */
export class Visits {
  readonly #visits = new AsyncLocalStorage<Visit>()

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
}

/** Returns the check of globs such as `support-*`. */
export function seeing(globs: readonly string[]): Sees {
  const known = new Map<string, boolean>()
  return (name) => {
    const [id = name] = name.split('/')
    let isSeen = known.get(id)
    if (isSeen === undefined) {
      isSeen = isCalled({ name: id }, globs)
      // Requests may name what they like.
      if (known.size < MAX_KNOWN) known.set(id, isSeen)
    }
    return isSeen
  }
}

const MAX_KNOWN = 10_000
