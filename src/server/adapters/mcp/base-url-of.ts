import type { FastifyRequest } from 'fastify'

/** Address of the server as the client knows it. */
export function baseUrlOf({ protocol, host, url }: FastifyRequest): string {
  return `${protocol}://${host}${url.slice(0, url.lastIndexOf('/mcp'))}`
}
