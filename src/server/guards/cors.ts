import fastifyCors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HostError } from '../../errors.ts'
import type { Origins } from './origins.ts'

const EXPOSED_HEADERS = [
  'x-request-id',
  'x-response-id',
  'x-should-retry',
  'idempotent-replayed',
  'retry-after',
  'ratelimit',
  'mcp-session-id',
  'x-ignored',
]

/**
 * Lets pages of other origins use the server: of every one, with every method, header and credentials, or of those named.
 * The answer names the origin, since `*` would not do with credentials.
 */
export async function addCors(app: FastifyInstance, listed: readonly string[], origins: Origins): Promise<void> {
  const isListed = (origin: string) => listed.length === 0 || listed.includes(origin) || origins.isTrusted(origin)
  if (listed.length > 0) refuseOthers(app, isListed, origins)
  await app.register(fastifyCors, {
    // Clients that are no browsers name no origin, and need none of these headers: they cost more than small answers do.
    origin: (origin: string | undefined, done: (error: null, isAllowed: boolean) => void) =>
      done(null, origin !== undefined && isListed(origin)),
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    exposedHeaders: EXPOSED_HEADERS,
    strictPreflight: false,
  })
}

/** Without CORS headers a page cannot read the answer, but its request would still take effect. */
function refuseOthers(app: FastifyInstance, isListed: (origin: string) => boolean, origins: Origins): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { origin } = request.headers
    const isRefused = origin !== undefined && !isListed(origin) && !origins.isOwn(request) && isGuarded(request)
    done(isRefused ? new HostError('ORIGIN_FORBIDDEN', `Pages of '${origin}' may not use this server`) : undefined)
  })
}

/** Matches requests that change state, and the endpoint of MCP: its specification asks servers to check the origin. */
function isGuarded({ method, url }: FastifyRequest): boolean {
  const changes = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
  return changes || url.split('?', 1)[0]?.replace(/\/$/, '') === '/mcp'
}
