import type { FastifyRequest } from 'fastify'
import { type KeyScope, visitorOf } from './principal.ts'

/**
 * Tells whether an answer may show what is behind names and counts: not to a page of another site, unless it sends a key with the
 * scope.
 */
export function showsContent(request: FastifyRequest, scope: KeyScope): boolean {
  const { principal, origins } = visitorOf(request)
  return (principal.hasKey && principal.scopes.includes(scope)) || !origins.mayBeForeign(request)
}

/** Tells whether a request comes from a page of this server. */
export function isOwnPage(request: FastifyRequest): boolean {
  return request.headers.origin !== undefined && !visitorOf(request).origins.isForeign(request)
}
