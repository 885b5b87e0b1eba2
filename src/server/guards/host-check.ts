import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import type { onRequestHookHandler } from 'fastify'
import { badRequest, HostError } from '../../errors.ts'

/** Reports whether an address is only reachable from this machine, however it is written: `127.1`, `::ffff:127.0.0.1`. */
export function isLoopback(address: string): boolean {
  const name = canonicalHost(address)
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '::1' ||
    /^::ffff:7f..:/.test(name) ||
    (isIPv4(name) && name.startsWith('127.'))
  )
}

/** Tells whether an address is one that others on the way cannot answer for: https, or of this machine. */
export function isSecure(address: string): boolean {
  const url = URL.parse(address)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
}

/** A host as the URL standard writes it, without brackets, and without the dot at the end of an absolute name. */
function canonicalHost(address: string): string {
  const name = address
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
  const url = isIPv6(name) ? `http://[${name}]` : /^[\da-fx.]+$/.test(name) ? `http://${name}` : ''
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[(.*)\]$/, '$1') : name
}

export interface ServedHosts {
  /** Address that the server is bound to. */
  readonly host: string
  readonly publicUrl?: string | undefined
  readonly allowedHosts: readonly string[]
}

/**
 * Returns the names that a server answers to beside those of this machine; undefined for one that answers to all. The name in its public
 * address is one of them, and by itself does not close a server that answers to all.
 */
export function servedNames({ host, publicUrl, allowedHosts }: ServedHosts): readonly string[] | undefined {
  if (!isLoopback(host) && allowedHosts.length === 0) return undefined
  return publicUrl === undefined ? allowedHosts : [...allowedHosts, new URL(publicUrl).hostname]
}

/**
 * A hook that refuses requests that name two hosts, by a second `Host` header or by a target in absolute form (RFC 9112,
 * sections 3.2 and 3.2.2): a proxy in front may have checked the other one.
 *
 * @param allowedHosts where given, only these and this machine's own names are served: a page from elsewhere whose name was pointed
 *   at 127.0.0.1 (DNS rebinding) is refused
 */
export function checkHost(allowedHosts: readonly string[] | undefined): onRequestHookHandler {
  const findProblem = allowedHosts && nameChecker(allowedHosts)
  return ({ raw, headers: { host } }, _reply, done) => {
    if (namesTwoHosts(raw)) done(badRequest('The request names more than one host'))
    else if (host === undefined && (findProblem || raw.httpVersion !== '1.0'))
      done(badRequest('The request names no host'))
    else done(host === undefined ? undefined : findProblem?.(host))
  }
}

function nameChecker(allowedHosts: readonly string[]): (host: string) => HostError | undefined {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()))
  // Clients send the same header every time: the last good one needs no second look.
  let lastGood: string | undefined
  return (host) => {
    if (host === lastGood) return undefined
    const name = hostName(host)
    if (!isLoopback(name) && !allowed.has(name) && !allowed.has(host.toLowerCase())) {
      return new HostError('HOST_FORBIDDEN', `The host '${name}' is not served here; --allowed-host allows it.`)
    }
    lastGood = host
    return undefined
  }
}

function namesTwoHosts({ rawHeaders, url = '', headers }: IncomingMessage): boolean {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) return true
  return url[0] !== '/' && URL.canParse(url) && new URL(url).host !== headers.host?.toLowerCase()
}

/** Returns the `Host` header without its port (RFC 9110, section 7.2). */
export function hostName(header: string): string {
  return header.replace(/:\d*$/, '').toLowerCase()
}
