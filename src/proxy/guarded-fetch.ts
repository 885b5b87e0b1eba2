import { lookup as resolveHost } from 'node:dns'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { messageOf } from '../errors.ts'
import { checkHeaders } from './forbidden-headers.ts'
import { proxyAgentFor } from './proxy-agent-for.ts'

/** Time that the system gets for a name that a proxy may know better. */
const RESOLVE_MS = 5000

/** Options of {@link makeGuardedFetch}. */
export interface GuardedFetchOptions {
  /** Names of hosts that may have private addresses: the operator has named them. */
  readonly namedHosts: Pick<ReadonlySet<string>, 'has'>
  /** Says how a host is named, for the error of one that is not. */
  readonly advice?: string
  /** Size of an answer, in bytes. */
  readonly maxBytes: number
}

/** Fetch of {@link makeGuardedFetch}. */
export type GuardedFetch = (input: string | URL, init?: RequestInit) => Promise<Response>

/**
 * Makes a `fetch` for addresses that strangers name. It connects only to public addresses, checked after each resolution of the
 * name, follows no redirect, sets no header of the message itself, and fails when more than this many bytes arrive. A proxy resolves
 * names itself: it gets those that have no private address here.
 *
 * @example
 * ```ts
 * export async function readPage(address: string): Promise<string> {
 *   const guarded = makeGuardedFetch({ namedHosts: new Set(['wiki.internal']), maxBytes: 1024 * 1024 })
 *   try {
 *     return await (await guarded(address)).text()
 *   } finally {
 *     await guarded[Symbol.asyncDispose]()
 *   }
 * }
 * ```
 */
export function makeGuardedFetch({
  namedHosts,
  advice = '',
  maxBytes,
}: GuardedFetchOptions): GuardedFetch & AsyncDisposable {
  const refuse: RefusePrivate = (address, host) => refusePrivate(address, host, namedHosts, advice)
  const lookup = guardedLookup(refuse)
  const options = { keepAlive: true, timeout: 30_000, lookup }
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) }
  const fetch: GuardedFetch = async (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not fetched.`)
    checkHeaders(request.headers.keys(), `The request to ${url.host}`)
    // The lookup is not called for an address.
    const host = hostOf(url)
    if (isIP(host) !== 0) refuse(host, host)
    const proxyAgent = proxyAgentFor(url)
    if (proxyAgent && !namedHosts.has(host)) await lookUpBefore(host, lookup)
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer())
    const send = url.protocol === 'http:' ? requestHttp : requestHttps
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'accept-encoding': 'identity', ...Object.fromEntries(request.headers) }
      const { method, signal } = request
      const sent = send(url, { method, headers, signal, agent: proxyAgent ?? agents[url.protocol as 'http:'] }, resolve)
      sent.on('error', (error) => reject(signal.aborted ? signal.reason : error))
      // Node reports neither an error nor a response for 101, and its signal ends no request that is closed.
      sent.on('upgrade', ({ statusCode }, socket) => {
        socket.destroy()
        reject(new Error(`the server answered ${statusCode}`))
      })
      sent.on('close', () => reject(new Error('the server closed the connection')))
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      sent.end(body)
    })
    return toResponse(message, maxBytes)
  }
  return Object.assign(fetch, {
    [Symbol.asyncDispose]: async () => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  })
}

function toResponse(message: IncomingMessage, maxBytes: number): Response {
  const headers = new Headers()
  for (let index = 0; index < message.rawHeaders.length; index += 2) {
    headers.append(message.rawHeaders[index] as string, message.rawHeaders[index + 1] as string)
  }
  const { statusCode: status = 500 } = message
  if (status === 204 || status === 205 || status === 304) {
    message.resume()
    return new Response(null, { status, headers })
  }
  // A body that is given up before it is read takes its connection with it.
  const body = (Readable.toWeb(message) as ReadableStream<Uint8Array>).pipeThrough(countBytes(maxBytes, false))
  return new Response(body, { status: Math.min(Math.max(status, 200), 599), headers })
}

type RefusePrivate = (address: string, host: string) => void

function guardedLookup(refuse: RefusePrivate): LookupFunction {
  return (host, options, callback) => {
    resolveHost(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '')
      try {
        // One private address among several is enough: the next connection might use it.
        for (const { address } of addresses) refuse(address, host)
      } catch (refusal) {
        return callback(refusal instanceof Error ? refusal : new Error(messageOf(refusal)), '')
      }
      const [first] = addresses
      if (options.all) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}

/** Settles also for a name that does not resolve here, or not in time: then the proxy is the guard. */
function lookUpBefore(host: string, lookup: LookupFunction): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, RESOLVE_MS)
    lookup(host, { all: true }, (error) => {
      clearTimeout(timer)
      if (error && error.code === undefined) reject(error)
      else resolve()
    })
  })
}

/** @throws Error for a private address of a host that is not named */
function refusePrivate(
  address: string,
  host: string,
  namedHosts: GuardedFetchOptions['namedHosts'],
  advice: string,
): void {
  if (namedHosts.has(host) || !isPrivate(address)) return
  throw new Error(`${host}${host === address ? '' : ` has the address ${address}, which`} is not public. ${advice}`)
}

/** Redirects within the origin that {@link fetchWithinOrigin} follows for one request. */
const MAX_REDIRECTS = 5

/**
 * Fetches from an address of the operator: no other origin gets its headers, which may hold keys. Redirects that keep the method are
 * followed within the origin.
 *
 * @throws Error that names the origin of a redirect that is not followed; as `fetch`
 *
 * @example
 * ```ts
 * export async function countItems(url: string, key: string): Promise<number> {
 *   const reply = await fetchWithinOrigin(`${url}/count`, { headers: { 'x-api-key': key } })
 *   return Number(await reply.text())
 * }
 * ```
 */
export async function fetchWithinOrigin(url: string | URL, init?: RequestInit): Promise<Response> {
  for (let [target, followed] = [url, 0]; ; followed++) {
    const response = await fetch(target, { ...init, redirect: 'manual' })
    const { status, headers } = response
    const location = status >= 300 && status < 400 ? headers.get('location') : null
    if (location === null || !URL.canParse(location, response.url) || followed === MAX_REDIRECTS) return response
    await response.body?.cancel().catch(() => {})
    const next = new URL(location, response.url)
    if (next.origin !== new URL(response.url).origin || (status !== 307 && status !== 308)) {
      throw new Error(`the server redirects to ${next.protocol}//${next.host}, which is not followed (${status})`)
    }
    target = next
  }
}

/**
 * Returns the response with a body that fails when more than this many bytes arrive: of all, or of one event where it is a stream of
 * server-sent events (HTML Living Standard, section 9.2.5: a blank line ends one).
 *
 * @example
 * ```ts
 * export async function readNote(url: string): Promise<string> {
 *   return limitBody(await fetchWithinOrigin(url), 1024 * 1024).text()
 * }
 * ```
 */
export function limitBody(response: Response, maxBytes: number): Response {
  if (!response.body) return response
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  return replaceBody(response, response.body.pipeThrough(countBytes(maxBytes, isStream)))
}

/** Gives a response another body: `Response` refuses words and numbers of a status that `fetch` takes. */
export function replaceBody({ status, statusText, headers }: Response, body: ReadableStream<Uint8Array>): Response {
  const said = /^[\t\x20-\x7e\x80-\xff]*$/.test(statusText) ? statusText : ''
  return new Response(body, { status: Math.min(status, 599), statusText: said, headers })
}

function countBytes(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? endOfEvent(chunk) : -1
      bytes = end === -1 ? bytes + chunk.length : chunk.length - end
      if (bytes > maxBytes) throw new Error(`the server answered more than ${maxBytes / 1024 / 1024} MiB`)
      controller.enqueue(chunk)
    },
  })
}

/** Index after the last blank line; -1 without one. */
function endOfEvent(chunk: Uint8Array): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  return Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\r\n\r\n'))
}

/**
 * Returns the host of an address as it is looked up: an IPv6 address without brackets.
 *
 * @example
 * ```ts
 * export function isLocal(address: string): boolean {
 *   return ['localhost', '127.0.0.1', '::1'].includes(hostOf(new URL(address)))
 * }
 * ```
 */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/** Reports whether an address is not on the public internet (IANA special-purpose registries, RFC 6890). */
export function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

const PRIVATE = new BlockList()
for (const range of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
  // Addresses that hold an IPv4 address reach it through a gateway: NAT64, 6to4, Teredo.
  ...['::/128', '::1/128', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32', '2002::/16'],
  ...['::ffff:0:0:0/96', '::/96', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
  ...['100:0:0:1::/64', '3fff::/20', '5f00::/16'],
]) {
  const [network = '', bits = ''] = range.split('/')
  PRIVATE.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4')
}
