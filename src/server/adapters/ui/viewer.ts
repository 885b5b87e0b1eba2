import type { FastifyRequest } from 'fastify'
import type { OperationContext } from 'graphql-http'
import { principalOf } from '../../guards/principal.ts'
import { isOwnPage, showsContent } from '../../guards/shows-content.ts'

/** Viewer of the debug data. */
export type Viewer = OperationContext & {
  /** False for a page of another site: it may see that something happened, but no content. */
  readonly seesContent: boolean
  /** The page that this server serves. */
  readonly isOwnPage: boolean
  /** Scopes of its key; empty without one. */
  readonly keyScopes: readonly string[]
  /** Tenant whose runs it sees; undefined for those of all. */
  readonly tenant: string | undefined
}

export function viewerOf(request: FastifyRequest): Viewer {
  const { tenant, hasKey, isOperator, scopes } = principalOf(request)
  const isOfTenant = hasKey && !isOperator
  return {
    seesContent: showsContent(request, 'debug'),
    isOwnPage: isOwnPage(request),
    keyScopes: hasKey ? scopes : [],
    tenant: isOfTenant ? tenant : undefined,
  }
}

/** Tells whether a viewer sees the runs of a tenant. */
export function sees(viewer: Pick<Viewer, 'tenant'>, tenant: string): boolean {
  return viewer.tenant === undefined || viewer.tenant === tenant
}

/** Returns what only a viewer of contents gets; null for others. */
export function contentFor<T>({ seesContent }: Viewer, value: T): T | null {
  return seesContent ? value : null
}
