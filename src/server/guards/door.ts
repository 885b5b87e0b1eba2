import { hash } from 'node:crypto'
import type { onRequestHookHandler } from 'fastify'
import { HostError } from '../../errors.ts'
import type { Origins } from './origins.ts'
import { type KeyScope, type Principal, setVisitor } from './principal.ts'
import type { RefuseWrongKey } from './wrong-keys.ts'

/** Key that opens a door. */
export interface Key {
  /** SHA-256, in hex. */
  readonly digest: string
  readonly principal: Principal
}

/** Reads the credentials of an `Authorization` header; an error when there are none, or in another form than the adapter takes. */
export type ReadCredentials = (authorization: string | undefined) => string | HostError

export interface DoorOptions {
  /** Keys that open it; none leaves it open. */
  readonly keys: readonly Key[]
  /** Principal of every request where the door is open. */
  readonly anonymous: Principal
  readonly origins: Origins
  readonly readCredentials?: ReadCredentials | undefined
  readonly refuseWrongKey: RefuseWrongKey
}

/** Part of the `config` of a route that names the scope it needs. */
interface ScopedRoute {
  /** `none` for a route that needs no key. */
  readonly scope: KeyScope | 'none'
}

/** Adds the scope that a route needs to its `config`; without one it needs `run`. */
export function withScope(config: object, scope: ScopedRoute['scope']): object {
  return { ...config, scope } satisfies ScopedRoute
}

/**
 * The door of an adapter: a hook that decides who makes a request, before its body is read, and lets it through when its key has the
 * scope of the route.
 *
 * @throws HostError `UNAUTHORIZED`, `KEY_FORBIDDEN`
 */
export function makeDoor({ keys, anonymous, origins, ...credentials }: DoorOptions): onRequestHookHandler {
  if (keys.length > 0) return makeClosedDoor({ keys, origins, ...credentials })
  const visitor = { principal: anonymous, origins }
  return (request, _reply, done) => {
    setVisitor(request, visitor)
    done()
  }
}

function makeClosedDoor({
  keys,
  origins,
  readCredentials = readBearer,
  refuseWrongKey,
}: Omit<DoorOptions, 'anonymous'>): onRequestHookHandler {
  const visitors = new Map(keys.map(({ digest, principal }) => [digest, { principal, origins }]))
  return (request, _reply, done) => {
    const { scope = 'run' } = (request.routeOptions.config ?? {}) as Partial<ScopedRoute>
    if (scope === 'none') return done()
    const credentials = readCredentials(request.headers.authorization)
    if (typeof credentials !== 'string') return done(credentials)
    const visitor = visitors.get(digestOf(credentials))
    if (visitor === undefined) return done(refuseWrongKey(request))
    setVisitor(request, visitor)
    const { principal } = visitor
    done(principal.scopes.includes(scope) ? undefined : lacksScope(principal, scope))
  }
}

/** Returns the SHA-256 of a key, in hex: keys are looked up by it, so no comparison takes longer for a better guess. */
export function digestOf(secret: string): string {
  return hash('sha256', secret)
}

/** Reads bearer credentials (RFC 6750, section 2.1). Another scheme counts as none. */
function readBearer(authorization = ''): string | HostError {
  const credentials = /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trimEnd()
  return credentials ?? new HostError('UNAUTHORIZED', 'Missing Authorization header')
}

/** Reads credentials as the specification has them for MCP: the scheme as it is written here, and everything behind one space. */
export function readExactBearer(authorization: string | undefined): string | HostError {
  if (authorization === undefined) return new HostError('UNAUTHORIZED', 'Missing Authorization header')
  if (authorization.startsWith('Bearer ')) return authorization.slice('Bearer '.length)
  return new HostError('UNAUTHORIZED', 'Invalid Authorization header format')
}

/** Error of a key that lacks the scope for a request. */
export function lacksScope({ name }: Principal, scope: KeyScope): HostError {
  const key = name === undefined ? 'The key' : `The key '${name}'`
  return new HostError('KEY_FORBIDDEN', `${key} lacks the scope '${scope}'`)
}
