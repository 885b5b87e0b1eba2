import type { FastifyRequest } from 'fastify'
import { Origins } from './origins.ts'

/** Scopes of keys: to use the agents, to see and decide approvals, and to see the debug UI. */
export const KEY_SCOPES = ['run', 'approve', 'debug'] as const

export type KeyScope = (typeof KEY_SCOPES)[number]

/** Sender of a request, as its key says. Frozen. */
export interface Principal {
  /** Name of the key; undefined for a key without one, and for requests without a key. */
  readonly name: string | undefined
  /** `''` is the nameless tenant: of keys without a tenant, and of requests without a key. */
  readonly tenant: string
  readonly scopes: readonly KeyScope[]
  readonly hasKey: boolean
  /** True for the token of the debug UI, which sees the runs of all tenants. */
  readonly isOperator: boolean
}

/** Principal of a request, and the rule for the page that it may come from. */
export interface Visitor {
  readonly principal: Principal
  readonly origins: Origins
}

/** Visitor without a key, where none is needed. */
const ANYBODY: Visitor = Object.freeze({
  principal: makePrincipal({ scopes: KEY_SCOPES, hasKey: false }),
  origins: new Origins({ allowedHosts: [], trustedOrigins: [] }),
})

/** A property of the request itself: a map of all requests would cost each of them 2 microseconds. */
const VISITOR = Symbol('visitor')

type VisitedRequest = FastifyRequest & { [VISITOR]?: Visitor }

/** Returns the sender of a request, as the door of the adapter has decided. */
export function principalOf(request: FastifyRequest): Principal {
  return visitorOf(request).principal
}

export function visitorOf(request: VisitedRequest): Visitor {
  return request[VISITOR] ?? ANYBODY
}

/** Remembers the visitor that a request comes from. */
export function setVisitor(request: VisitedRequest, visitor: Visitor): void {
  request[VISITOR] = visitor
}

export function makePrincipal({
  name,
  tenant = '',
  scopes,
  hasKey = true,
  isOperator = false,
}: Pick<Principal, 'scopes'> & { [Field in keyof Principal]?: Principal[Field] | undefined }): Principal {
  return Object.freeze({ name, tenant, scopes: Object.freeze([...scopes]), hasKey, isOperator })
}
