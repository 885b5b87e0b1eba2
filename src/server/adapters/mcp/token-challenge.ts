import type { FastifyInstance, FastifyRequest } from 'fastify'
import { withScope } from '../../guards/door.ts'
import type { ServerOptions } from '../../options/options.ts'
import { baseUrlOf } from '../../replies/base-url-of.ts'

const METADATA = '/.well-known/oauth-protected-resource'
const PATH = '/mcp'

/** Serves the document that names the authorization server of `/mcp` (RFC 9728), under both addresses that clients try. */
export function serveResourceMetadata(app: FastifyInstance, options: ServerOptions): void {
  for (const url of [`${METADATA}${PATH}`, METADATA]) {
    app.get(url, { config: withScope({}, 'none') }, (request) => ({
      resource: baseOf(request, options, url) + PATH,
      authorization_servers: [options.jwtIssuer],
      bearer_methods_supported: ['header'],
    }))
  }
}

/** Header that leads the client of a request without a valid token to that document. */
export function challengeOf(request: FastifyRequest, options: ServerOptions): string {
  return `Bearer resource_metadata="${baseOf(request, options, PATH)}${METADATA}${PATH}"`
}

/** Address before the path of a route. Behind a proxy that speaks TLS, clients know the public one. */
function baseOf(request: FastifyRequest, { publicUrl }: ServerOptions, path: string): string {
  return publicUrl?.startsWith('https:') ? publicUrl : baseUrlOf(request, path)
}
