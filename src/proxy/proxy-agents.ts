import http, { type AgentOptions, type ClientRequest, type RequestOptions } from 'node:http'
import https from 'node:https'
import { connect as connectTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { authorizationOf } from './authorization.ts'
import { proxiesInUse } from './proxy-agent-for.ts'
import { type ProxySettings, portOf } from './proxy-settings.ts'

type OnSocket = (error: Error | null, socket?: Duplex) => void

/** Agent for `http:`: asks a proxy for the whole address (RFC 9112, section 3.2.2). */
export class HttpProxyAgent extends http.Agent {
  readonly proxies: ProxySettings | undefined

  /** Without arguments it is for a single request (`agent: false`). */
  constructor(options: AgentOptions = {}, proxies = proxiesInUse()) {
    super(options)
    this.proxies = proxies
  }

  /** Node calls it for each request; agents of packages override it likewise. */
  override addRequest(request: ClientRequest, options: RequestOptions): void {
    const address = addressOf('http:', options)
    const proxy = address && this.proxies?.proxyFor(address)
    if (!proxy) {
      super.addRequest(request, options)
      return
    }
    request.path = address.origin + request.path
    const authorization = authorizationOf(proxy)
    if (authorization !== undefined) request.setHeader('proxy-authorization', authorization)
    super.addRequest(request, { ...options, ...placeOf(proxy), proxyProtocol: proxy.protocol } as RequestOptions)
  }

  override createConnection(options: ConnectionOptions & { proxyProtocol?: string }): Duplex {
    return options.proxyProtocol === 'https:' ? connectTls(withName(options)) : connectTcp(options as { port: number })
  }
}

/** Agent for `https:`: asks a proxy for a tunnel (RFC 9110, section 9.3.6). */
export class HttpsProxyAgent extends https.Agent {
  readonly proxies: ProxySettings | undefined

  /** Without arguments it is for a single request (`agent: false`). */
  constructor(options: AgentOptions = {}, proxies = proxiesInUse()) {
    super(options)
    this.proxies = proxies
  }

  override createConnection(options: RequestOptions, onSocket: OnSocket): Duplex | undefined {
    const address = addressOf('https:', options)
    const proxy = address && this.proxies?.proxyFor(address)
    if (!proxy) return super.createConnection(options, onSocket) ?? undefined
    const secure = (socket: Duplex) => super.createConnection({ ...options, socket } as RequestOptions, onSocket)
    openTunnel(proxy, `${address.hostname}:${portOf(address)}`, (error, socket) => {
      const secured = socket ? secure(socket) : undefined
      onSocket(error, secured ?? undefined)
    })
    return undefined
  }
}

/** Time in which a proxy has to answer. The caller may give up earlier. */
const TUNNEL_SECONDS = 30

/** @param target host and port */
function openTunnel(proxy: URL, target: string, onSocket: OnSocket): void {
  const { request, Agent } = proxy.protocol === 'https:' ? https : http
  const authorization = authorizationOf(proxy)
  const headers = { host: target, ...(authorization && { 'proxy-authorization': authorization }) }
  const asked = request({ ...placeOf(proxy), method: 'CONNECT', path: target, headers, agent: new Agent() })
  const timer = setTimeout(() => {
    asked.destroy(
      new Error(`The proxy ${proxy.origin} did not answer for ${TUNNEL_SECONDS} s when asked for ${target}.`),
    )
  }, TUNNEL_SECONDS * 1000)
  asked.once('close', () => clearTimeout(timer))
  asked.once('error', onSocket)
  asked.once('connect', ({ statusCode }, socket) => {
    clearTimeout(timer)
    if (statusCode === 200) return onSocket(null, socket)
    socket.destroy()
    onSocket(new Error(`The proxy ${proxy.origin} answered ${statusCode} when asked for ${target}.`))
  })
  asked.end()
}

/** Undefined for a socket of the file system. */
function addressOf(protocol: string, { host, port, socketPath }: RequestOptions): URL | undefined {
  if (socketPath) return undefined
  const name = host ?? 'localhost'
  return new URL(`${protocol}//${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port ?? ''}`)
}

function placeOf(proxy: URL): { host: string; port: number } {
  return { host: proxy.hostname.replace(/^\[|\]$/g, ''), port: Number(portOf(proxy)) }
}

function withName({ servername: _, ...options }: ConnectionOptions): ConnectionOptions {
  return { ...options, servername: options.host ?? '' }
}

declare module 'node:http' {
  interface Agent {
    addRequest(request: ClientRequest, options: RequestOptions): void
  }
}
