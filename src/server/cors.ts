import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HostError } from '../errors.ts'
import { isOwnOrigin } from './own-origin.ts'

const EXPOSED_HEADERS = [
  'x-request-id',
  'x-response-id',
  'x-should-retry',
  'idempotent-replayed',
  'retry-after',
  'mcp-session-id',
].join(', ')

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/**
 * Lets pages of other origins use the server: of every one, with every method, header and credentials, or of those named.
 * The answer names the origin, since `*` would not do with credentials.
 */
export function addCors(app: FastifyInstance, origins: readonly string[]): void {
  const isAllowed = origins.length === 0 ? () => true : (origin: string) => origins.includes(origin)
  if (origins.length > 0) refuseOthers(app, isAllowed)
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    reply.header('vary', 'Origin')
    // Clients that are no browsers name no origin, and need none of the other headers.
    if (origin === undefined || !isAllowed(origin)) return done()
    reply.header('access-control-allow-origin', origin)
    reply.header('access-control-allow-credentials', 'true')
    reply.header('access-control-expose-headers', EXPOSED_HEADERS)
    if (request.method === 'OPTIONS') answerPreflight(request, reply)
    else done()
  })
  // A path without a route has no hooks where the app around this one answers it.
  app.options('*', { schema: { hide: true } as object }, (_request, reply) => reply.callNotFound())
}

function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const asked = headers['access-control-request-headers']
  reply.header('vary', 'Origin, Access-Control-Request-Headers')
  reply.header('access-control-allow-methods', METHODS)
  if (asked !== undefined) reply.header('access-control-allow-headers', asked)
  // Safari waits for a body without the length.
  reply.code(204).header('content-length', '0').send()
}

/** Without CORS headers a page cannot read the answer, but its request would still take effect. */
function refuseOthers(app: FastifyInstance, isListed: (origin: string) => boolean): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { origin } = request.headers
    const isRefused = origin !== undefined && !isListed(origin) && !isOwnOrigin(request) && isGuarded(request)
    done(isRefused ? new HostError('ORIGIN_FORBIDDEN', `Pages of '${origin}' may not use this server`) : undefined)
  })
}

/** Matches requests that change state, and the endpoint of MCP: its specification asks servers to check the origin. */
function isGuarded({ method, url }: FastifyRequest): boolean {
  const changes = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
  return changes || url.split('?', 1)[0]?.replace(/\/$/, '') === '/mcp'
}
