import type { FastifyRequest } from 'fastify'

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

/** Sender without a key, where none is needed. */
const ANYBODY: Principal = makePrincipal({ scopes: KEY_SCOPES, hasKey: false })

const principals = new WeakMap<FastifyRequest, Principal>()

/** Returns who makes a request. */
export function principalOf(request: FastifyRequest): Principal {
  return principals.get(request) ?? ANYBODY
}

/** Remembers who makes a request. */
export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  principals.set(request, principal)
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
