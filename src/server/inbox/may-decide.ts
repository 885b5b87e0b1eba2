import type { FastifyRequest } from 'fastify'
import { HostError } from '../../errors.ts'
import { lacksScope } from '../guards/door.ts'
import { principalOf, visitorOf } from '../guards/principal.ts'

/** Sender of a decision: approve, reject, edit, or the answer to a question. */
export interface Decider {
  /** Name of the key. Without one the address: clients may claim anything. */
  readonly by: string
  /** Name of the key; undefined for a key without one, and without a key. */
  readonly keyName: string | undefined
  /** @throws as {@link requireMayDecide} */
  readonly requireMayDecide: () => void
  /** @throws as {@link requireMaySupersede} */
  readonly requireMaySupersede: () => void
}

/** Returns the sender of the decisions of a request. */
export function deciderOf(request: FastifyRequest): Decider {
  const { name, hasKey } = principalOf(request)
  return {
    keyName: name,
    by: name ?? (hasKey ? `${request.ip}, with the key` : request.ip),
    requireMayDecide: () => requireMayDecide(request),
    requireMaySupersede: () => requireMaySupersede(request),
  }
}

/**
 * Lets a request decide, wherever its decisions stand.
 *
 * @throws HostError `KEY_FORBIDDEN`, `ORIGIN_FORBIDDEN`
 */
export function requireMayDecide(request: FastifyRequest): void {
  const problem = findProblem(request)
  if (problem) throw problem
}

/**
 * Lets a request reject what waits by saying something else: any client of its own, but no page of another site.
 *
 * @throws HostError `ORIGIN_FORBIDDEN`
 */
function requireMaySupersede(request: FastifyRequest): void {
  const problem = findForeign(request)
  if (problem) throw problem
}

/** Tells whether a request may decide. */
export function mayDecide(request: FastifyRequest): boolean {
  return findProblem(request) === undefined
}

function findProblem(request: FastifyRequest): HostError | undefined {
  const principal = principalOf(request)
  if (principal.scopes.includes('approve')) return findForeign(request)
  if (principal.hasKey) return lacksScope(principal, 'approve')
  return new HostError('KEY_FORBIDDEN', "Decisions need a key with the scope 'approve'")
}

function findForeign(request: FastifyRequest): HostError | undefined {
  const { principal, origins } = visitorOf(request)
  if (principal.hasKey || !origins.isForeign(request)) return undefined
  return origins.refuse(request, 'decide')
}
