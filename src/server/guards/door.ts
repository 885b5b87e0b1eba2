import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { HostError } from '../../errors.ts'
import type { FollowedKeys } from './followed-keys.ts'
import { digestOf, type Key } from './key.ts'
import type { Origins } from './origins.ts'
import { type KeyScope, type Principal, setVisitor } from './principal.ts'
import type { Tokens, Verified } from './tokens.ts'
import type { RefuseWrongKey } from './wrong-keys.ts'

/** Reads the credentials of an `Authorization` header; an error when there are none, or in another form than the adapter takes. */
export type ReadCredentials = (authorization: string | undefined) => string | HostError

export interface DoorOptions {
  /** Name of the adapter behind it. */
  readonly adapter: string
  /** Keys that open this door alone. */
  readonly keys: readonly Key[]
  /** Keys that open every door; without them, and without keys of its own, the door is open. */
  readonly fileKeys?: FollowedKeys | undefined
  /** Tokens that open every door, as the keys of the file; undefined where none are taken. */
  readonly tokens?: Tokens | undefined
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
export function makeDoor({ anonymous, ...options }: DoorOptions): onRequestHookHandler {
  const { keys, fileKeys, tokens, origins } = options
  if (keys.length > 0 || fileKeys || tokens) return makeClosedDoor(options)
  const visitor = { principal: anonymous, origins }
  return (request, _reply, done) => {
    setVisitor(request, visitor)
    done()
  }
}

function makeClosedDoor({
  adapter,
  keys,
  fileKeys,
  tokens,
  origins,
  readCredentials = readBearer,
  refuseWrongKey,
}: Omit<DoorOptions, 'anonymous'>): onRequestHookHandler {
  const ownKeys = new Map(keys.map((key) => [key.digest, key]))
  /** @returns why the holder of a key may not enter */
  const enter = (request: FastifyRequest, scope: KeyScope, key: Pick<Key, 'principal' | 'adapters'> | undefined) => {
    if (key === undefined) return refuseWrongKey(request)
    const { principal, adapters } = key
    setVisitor(request, { principal, origins })
    if (adapters && !adapters.includes(adapter)) return isNotFor(principal, adapter)
    return principal.scopes.includes(scope) ? undefined : lacksScope(principal, scope)
  }
  const enterByToken = (request: FastifyRequest, reply: FastifyReply, scope: KeyScope, token: Verified | undefined) => {
    if (token) tokens?.guard(token, request, reply)
    return enter(request, scope, token)
  }
  return (request, reply, done) => {
    const { scope = 'run' } = (request.routeOptions.config ?? {}) as Partial<ScopedRoute>
    if (scope === 'none') return done()
    const credentials = readCredentials(request.headers.authorization)
    if (typeof credentials !== 'string') return done(credentials)
    const digest = digestOf(credentials)
    const fileKey = fileKeys?.find(digest)
    const key = fileKey ?? ownKeys.get(digest)
    if (fileKey) fileKeys?.guard(fileKey, request, reply)
    if (key || !tokens) return done(enter(request, scope, key))
    const token = tokens.check(credentials, digest)
    if (!(token instanceof Promise)) return done(enterByToken(request, reply, scope, token))
    token.then((found) => done(enterByToken(request, reply, scope, found)), done)
  }
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
export function lacksScope(principal: Principal, scope: KeyScope): HostError {
  return new HostError('KEY_FORBIDDEN', `${keyOf(principal)} lacks the scope '${scope}'`)
}

function isNotFor(principal: Principal, adapter: string): HostError {
  return new HostError('KEY_FORBIDDEN', `${keyOf(principal)} is not for ${adapter}`)
}

function keyOf({ name }: Principal): string {
  return name === undefined ? 'The key' : `The key '${name}'`
}
