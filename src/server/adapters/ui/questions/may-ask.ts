import type { FastifyRequest } from 'fastify'
import { hostName, isLoopback } from '../../../guards/host-check.ts'
import { namesScopes, principalOf } from '../../../guards/principal.ts'
import { isOwnPage } from '../../../guards/shows-content.ts'

/** Tells whether a request comes from the page of this server, opened on this machine. An origin that is trusted for other things is not enough. */
export function isPageHere(request: FastifyRequest): boolean {
  const { origin, host = '' } = request.headers
  return isOwnPage(request) && origin === `http://${host}` && isLoopback(hostName(host))
}

/** Returns why the sender of a request may not put questions to the terminal; undefined if it may. The files are those of the whole project. */
export function findLack(request: FastifyRequest): string | undefined {
  const { scopes, tenant, agents, isOperator } = principalOf(request)
  if (tenant !== '' || agents) return 'This needs a key without a tenant, for all agents'
  const mayDecide = scopes.includes('approve') || (isOperator && !namesScopes(request.server))
  return mayDecide ? undefined : "This needs a key with the scope 'approve'"
}
