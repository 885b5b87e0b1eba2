import type { FastifyRequest } from 'fastify'
import type { OperationContext } from 'graphql-http'

/** Viewer of the page. */
export type Viewer = OperationContext & {
  /** A page of another site: it may see that something happened, but no content. */
  readonly isCrossSite: boolean
  /** The page that this server serves, as browsers say. */
  readonly isOwnPage: boolean
}

/**
 * Returns the viewer, with the mark of a page of another site: browsers set that header, and pages cannot change it.
 */
export function viewerOf({ headers }: FastifyRequest): Viewer {
  const site = headers['sec-fetch-site']
  return { isCrossSite: site === 'cross-site', isOwnPage: site === 'same-origin' } as Viewer
}
