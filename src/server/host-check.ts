import { isIPv4 } from 'node:net'
import type { onRequestHookHandler } from 'fastify'
import { HostError } from '../errors.ts'

/** Returns true for an address that is only reachable from this machine. */
export function isLoopback(address: string): boolean {
  const name = address.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || (isIPv4(name) && name.startsWith('127.'))
  )
}

/**
 * A hook that serves only requests for this machine's own names, and for those that are allowed: a page from elsewhere
 * whose name was pointed at 127.0.0.1 (DNS rebinding) is refused.
 */
export function checkHost(allowedHosts: readonly string[]): onRequestHookHandler {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()))
  // Clients send the same header every time: the last good one needs no second look.
  let lastGood: string | undefined
  return (request, _reply, done) => {
    const { host } = request.headers
    if (host !== undefined && host === lastGood) return done()
    const name = hostName(host ?? '')
    if (!isLoopback(name) && !allowed.has(name) && !allowed.has((host ?? '').toLowerCase())) {
      return done(new HostError('HOST_FORBIDDEN', `The host '${name}' is not served here; --allowed-host allows it.`))
    }
    lastGood = host
    done()
  }
}

/** The `Host` header without its port (RFC 9110, section 7.2). */
function hostName(header: string): string {
  return header.replace(/:\d*$/, '').toLowerCase()
}
