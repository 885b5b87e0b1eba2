import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { HostError } from '../../errors.ts'

/**
 * Rejects pages of other sites, even if CORS allows them: a web page must not approve a payment. Browsers say where a request comes
 * from (`Sec-Fetch-Site`, `Origin`), and pages cannot change that; programs say nothing.
 */
export const requireOwnOrigin: onRequestHookHandler = (request, _reply, done) => {
  const { headers } = request
  const isOtherOrigin = headers.origin !== undefined && !isOwnOrigin(request)
  if (!isOtherOrigin && headers['sec-fetch-site'] !== 'cross-site') return done()
  done(new HostError('ORIGIN_FORBIDDEN', 'Pages of other sites may not see or decide approvals'))
}

/** True for a request of a page that this server serves. */
export function isOwnOrigin({ headers: { origin, host } }: FastifyRequest): boolean {
  return origin === `http://${host}` || origin === `https://${host}`
}
