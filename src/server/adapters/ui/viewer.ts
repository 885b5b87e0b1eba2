import type { FastifyRequest } from 'fastify'
import type { OperationContext } from 'graphql-http'
import { principalOf } from '../../guards/principal.ts'

/** Viewer of the page. */
export type Viewer = OperationContext & {
  /** A page of another site: it may see that something happened, but no content. */
  readonly isCrossSite: boolean
  /** The page that this server serves, as browsers say. */
  readonly isOwnPage: boolean
  /** Tenant whose runs it sees; undefined for those of all. */
  readonly tenant: string | undefined
}

/**
 * Returns the viewer, with the mark of a page of another site: browsers set that header, and pages cannot change it.
 */
export function viewerOf(request: FastifyRequest): Viewer {
  const site = request.headers['sec-fetch-site']
  const { tenant, hasKey, isOperator } = principalOf(request)
  const isOfTenant = hasKey && !isOperator
  return {
    isCrossSite: site === 'cross-site',
    isOwnPage: site === 'same-origin',
    tenant: isOfTenant ? tenant : undefined,
  } as Viewer
}

/** Tells whether a viewer sees the runs of a tenant. */
export function sees(viewer: Pick<Viewer, 'tenant'>, tenant: string): boolean {
  return viewer.tenant === undefined || viewer.tenant === tenant
}
