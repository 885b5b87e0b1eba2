import type { onRequestHookHandler } from 'fastify'
import { HostError } from '../errors.ts'

/**
 * Refuses pages of other sites, whatever CORS allows: a web page must not approve a payment. Browsers say where a request comes
 * from (`Sec-Fetch-Site`, `Origin`), and pages cannot change that; programs say nothing.
 */
export const requireOwnOrigin: onRequestHookHandler = ({ headers }, _reply, done) => {
  const { origin, host } = headers
  const isForeign = origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`
  if (!isForeign && headers['sec-fetch-site'] !== 'cross-site') return done()
  done(new HostError('ORIGIN_FORBIDDEN', 'Pages of other sites may not see or decide approvals'))
}
