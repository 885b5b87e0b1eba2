import { AsyncResource } from 'node:async_hooks'
import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { HostError } from '../../errors.ts'
import { visitorOf } from '../guards/principal.ts'

/** Connection of a request to upgrade, until a route has answered it. */
interface Upgrade {
  readonly socket: Socket
  readonly head: Buffer
}

const UPGRADES = new WeakMap<IncomingMessage, Upgrade>()
const SERVERS = new WeakSet<Server>()
/** No compression: few bytes could unpack to very many. Pings are answered by the transport. */
const OPTIONS = { noServer: true, clientTracking: false, perMessageDeflate: false, autoPong: false }

/**
 * Has requests to upgrade to a WebSocket pass the hooks and routes of an app like any other, so that host, key and limits are checked
 * before the 101. Other upgrades are ignored, as RFC 9110 (section 7.8) allows: Node would not read their bodies.
 */
export function routeUpgrades({ server, routing }: FastifyInstance): void {
  if (SERVERS.has(server)) return
  SERVERS.add(server)
  server.on('upgrade', (request, socket: Socket, head) => {
    // An app that this one is part of may serve sockets of its own.
    const isShared = server.listenerCount('upgrade') > 1
    if (!isWebSocket(request)) return isShared ? undefined : readAsHttp(server, request, socket, head)
    if (isShared && !/\/v1\/responses\/?(\?|$)/.test(request.url ?? '')) return
    const response = takeOver(request, socket)
    if (!response) return
    UPGRADES.set(request, { socket, head })
    response.shouldKeepAlive = false
    response.once('finish', () => socket.destroySoon())
    socket.on('error', () => socket.destroy())
    // Node's own listener went with HTTP; the limit of clients that do not read is a timeout of the socket.
    socket.on('timeout', () => socket.destroy())
    routing(request, response)
  })
}

/**
 * Returns a response on a connection that Node has given away. Where an earlier request is not answered yet, the connection is
 * closed: its answer could no longer be written.
 */
function takeOver(request: IncomingMessage, socket: Socket): ServerResponse | undefined {
  const response = new ServerResponse(request)
  try {
    response.assignSocket(socket)
    return response
  } catch {
    socket.destroy()
    return undefined
  }
}

/** True for a request whose connection can become a WebSocket. */
export function isUpgrade({ raw }: FastifyRequest): boolean {
  return UPGRADES.has(raw)
}

/**
 * Answers with 101. Pages of other sites are refused: CORS does not cover sockets.
 *
 * @param origins that are allowed beside the server's own
 * @throws HostError `ORIGIN_FORBIDDEN`
 */
export async function acceptUpgrade(
  request: FastifyRequest,
  reply: { hijack(): unknown; raw: ServerResponse },
  { origins, maxPayload }: { origins: readonly string[]; maxPayload: number },
  onOpen: (socket: WebSocket) => void,
): Promise<void> {
  const { origin } = request.headers
  const isOwn = origin === undefined || visitorOf(request).origins.isOwn(request)
  if (!isOwn && !origins.includes(origin.toLowerCase())) {
    throw new HostError('ORIGIN_FORBIDDEN', `Pages of '${origin}' may not use this server`)
  }
  // Loaded by the first client that needs it.
  const { WebSocketServer } = await import('ws')
  const { socket, head } = UPGRADES.get(request.raw) as Upgrade
  UPGRADES.delete(request.raw)
  reply.hijack()
  reply.raw.detachSocket(socket)
  const server = new WebSocketServer({ ...OPTIONS, maxPayload })
  server.handleUpgrade(request.raw, socket, head, (open) => {
    // Messages come from the connection: they belong to the visit of this request.
    open.emit = AsyncResource.bind(open.emit.bind(open))
    onOpen(open)
  })
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Reads a request again, without its wish to upgrade: clients send `Upgrade: h2c` with ordinary requests. */
function readAsHttp(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const response = takeOver(request, socket)
  if (!response) return
  response.detachSocket(socket)
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    if (!/^(upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}
