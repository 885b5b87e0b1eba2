import type { FastifyRequest } from 'fastify'
import type { OperationContext } from 'graphql-http'
import { isCalled } from '../../../protocols/callable-agent.ts'
import { principalOf } from '../../guards/principal.ts'
import { isOwnPage, showsContent } from '../../guards/shows-content.ts'
import { findLack, isPageHere } from './questions/may-ask.ts'

/** Viewer of the debug data. */
export type Viewer = OperationContext & {
  /** False for a page of another site: it may see that something happened, but no content. */
  readonly seesContent: boolean
  /** The page that this server serves. */
  readonly isOwnPage: boolean
  /** It may put questions to the person at the terminal. */
  readonly mayAsk: boolean
  /** Scopes of its key; empty without one. */
  readonly keyScopes: readonly string[]
  /** Tenant whose runs it sees; undefined for those of all. */
  readonly tenant: string | undefined
  /** Globs of the agents that exist for it; undefined for all. */
  readonly agents: readonly string[] | undefined
}

export function viewerOf(request: FastifyRequest): Viewer {
  const { tenant, hasKey, isOperator, scopes, agents } = principalOf(request)
  const isOfTenant = hasKey && !isOperator
  return {
    seesContent: showsContent(request, 'debug'),
    isOwnPage: isOwnPage(request),
    mayAsk: isPageHere(request) && findLack(request) === undefined,
    keyScopes: hasKey ? scopes : [],
    tenant: isOfTenant ? tenant : undefined,
    agents,
  }
}

/** Tells whether a viewer sees a run. */
export function sees(viewer: Viewer, run: { readonly tenant: string; readonly agent_id: string }): boolean {
  return (viewer.tenant === undefined || viewer.tenant === run.tenant) && seesAgent(viewer, run.agent_id)
}

/** Tells whether an agent exists for a viewer. */
export function seesAgent({ agents }: Viewer, id: string): boolean {
  return agents === undefined || isCalled({ name: id }, agents)
}

/** Returns what only a viewer of contents gets; null for others. */
export function contentFor<T>({ seesContent }: Viewer, value: T): T | null {
  return seesContent ? value : null
}
