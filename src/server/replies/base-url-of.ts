import type { FastifyRequest } from 'fastify'

/** Address before the path of a route, as the client knows it: with the path at which another server has this one. */
export function baseUrlOf({ protocol, host, originalUrl }: FastifyRequest, path: string): string {
  return `${protocol}://${host}${originalUrl.slice(0, originalUrl.lastIndexOf(path))}`
}
