import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { NAME_PATTERN } from '../../definition/definition.ts'
import { findFirstProblem } from '../../definition/first-problem.ts'
import { badRequest } from '../../errors.ts'
import type { Limits } from '../../run/state/run-quota.ts'
import { Origins } from './origins.ts'

/** Scope of a key: to use the agents, to see and decide approvals, to see the debug UI, or to delete the data of users. */
export type KeyScope = 'run' | 'approve' | 'debug' | 'forget'

export const KEY_SCOPES = ['run', 'approve', 'debug', 'forget'] as const satisfies readonly KeyScope[]

/** Sender of a request, as its key says. Frozen. */
export interface Principal {
  /** Name of the key; undefined for a key without one, and for requests without a key. */
  readonly name: string | undefined
  /** `''` is the nameless tenant: of keys without a tenant, and of requests without a key. */
  readonly tenant: string
  readonly scopes: readonly KeyScope[]
  readonly hasKey: boolean
  /** User that its runs are for, in place of the one that a request names; undefined where requests name theirs. */
  readonly user: string | undefined
  /** Globs of the agents that exist for it; undefined for all. */
  readonly agents: readonly string[] | undefined
  /** Of the key alone; undefined for none. Those of its tenant are in the file of keys. */
  readonly limits: Limits | undefined
  /** True for the token of the debug UI, which sees the runs of all tenants. */
  readonly isOperator: boolean
}

/** Principal of a request, and the rule for the page that it may come from. */
export interface Visitor {
  readonly principal: Principal
  readonly origins: Origins
}

/** Sender of whom nothing is known, and who may do nothing. */
export const NO_SENDER = makePrincipal({ scopes: [], hasKey: false })

/** Visitor of a request that no server has taken in. */
const NOBODY: Visitor = Object.freeze({
  principal: NO_SENDER,
  origins: new Origins({ allowedHosts: [], trustedOrigins: [] }),
})

/** A property of the request itself: a map of all requests would cost each of them 2 microseconds. */
const VISITOR = Symbol('visitor')

/** A request, or the server itself: its visitor is that of all requests which no door has seen. */
interface Visited {
  [VISITOR]?: Visitor
}

/** Returns the sender of a request, as the door of the adapter has decided. */
export function principalOf(request: FastifyRequest): Principal {
  return visitorOf(request).principal
}

export function visitorOf(request: FastifyRequest): Visitor {
  return (request as Visited)[VISITOR] ?? (request.server as Visited)[VISITOR] ?? NOBODY
}

/** Tells whether keys of a server name scopes: then a request without a key has none. */
export function namesScopes(server: FastifyInstance): boolean {
  return (server as Visited)[VISITOR]?.principal.scopes.length === 0
}

/** Remembers the visitor that a request comes from; for a server, that of the requests which no door has seen. */
export function setVisitor(visited: FastifyRequest | FastifyInstance, visitor: Visitor): void {
  ;(visited as Visited)[VISITOR] = visitor
}

/** Name of a key, or of a tenant. */
export const Name = Type.String({ pattern: NAME_PATTERN })
const Sender = Type.Object({
  name: Name,
  tenant: Type.Optional(Name),
  scopes: Type.Array(Type.Union(KEY_SCOPES.map((scope) => Type.Literal(scope)))),
})

/** Sender of a request that an adapter has verified. */
export type Sender = Static<typeof Sender>

/**
 * Names the sender of a request, who then may do what the scopes say.
 *
 * @throws HostError `REQUEST_INVALID`
 */
export function identify(request: FastifyRequest, sender: Sender): void {
  const problem = findFirstProblem(Sender, sender)
  if (problem) throw badRequest(`sender: ${problem.message}`)
  setVisitor(request, { principal: makePrincipal(sender), origins: visitorOf(request).origins })
}

export function makePrincipal({
  name,
  tenant = '',
  scopes,
  user,
  agents,
  limits,
  hasKey = true,
  isOperator = false,
}: Pick<Principal, 'scopes'> & { [Field in keyof Principal]?: Principal[Field] | undefined }): Principal {
  return Object.freeze({ name, tenant, scopes: Object.freeze([...scopes]), user, agents, limits, hasKey, isOperator })
}
