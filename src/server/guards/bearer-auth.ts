import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { HostError } from '../../errors.ts'
import { type KeyHolder, type KeyScope, makeKeyFinder } from './api-keys.ts'

/** Part of the `config` of a route that names the scope it needs; others need `run`. */
interface ScopedRoute {
  readonly scope: KeyScope
}

/** Adds the scope that a route needs to its `config`. */
export function withScope(config: object, scope: KeyScope): object {
  return { ...config, scope } satisfies ScopedRoute
}

const holders = new WeakMap<FastifyRequest, KeyHolder>()

/**
 * A hook that lets a request through when it carries a key as bearer credentials (RFC 6750, section 2.1) that has the scope of the
 * route. Without a key every request passes. It runs before the body is read.
 *
 * @param onWrongKey takes note of each request that is refused
 * @throws HostError `UNAUTHORIZED`: `Missing Authorization header`, also for another scheme, or `Invalid API key`; `KEY_FORBIDDEN`
 */
export function requireBearer(
  apiKey: string | undefined,
  onWrongKey?: (request: FastifyRequest) => void,
): onRequestHookHandler {
  if (apiKey === undefined) return (_request, _reply, done) => done()
  const findHolder = makeKeyFinder(apiKey)
  return (request, _reply, done) => {
    const credentials = /^bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1]
    const holder = credentials === undefined ? undefined : findHolder(credentials.trimEnd())
    if (holder) return done(admit(request, holder))
    onWrongKey?.(request)
    const problem = credentials === undefined ? 'Missing Authorization header' : 'Invalid API key'
    done(new HostError('UNAUTHORIZED', problem))
  }
}

/** Remembers whose request it is. Returns the error of a key that lacks the scope of the route. */
export function admit(request: FastifyRequest, holder: KeyHolder): HostError | undefined {
  const { scope = 'run' } = (request.routeOptions.config ?? {}) as Partial<ScopedRoute>
  if (!holder.scopes.includes(scope)) return lacksScope(holder.name, scope)
  holders.set(request, holder)
  return undefined
}

/** Whoever makes a request, as one who decides. */
export interface Decider {
  /** Name of the key. Without one the address: clients may claim anything. */
  readonly by: string
  readonly mayDecide: boolean
}

/** Returns the decider behind a request. */
export function deciderOf(request: FastifyRequest): Decider {
  const holder = holders.get(request)
  const by = holder?.name ?? (holder ? `${request.ip}, with the key` : request.ip)
  return { by, mayDecide: holder?.scopes.includes('approve') ?? true }
}

/** Error of a key that lacks the scope for a request. */
export function lacksScope(name: string | undefined, scope: KeyScope): HostError {
  return new HostError('KEY_FORBIDDEN', `The key '${name}' lacks the scope '${scope}'`)
}
