import { createHash, timingSafeEqual } from 'node:crypto'

/** Scope of a key: to use the agents, or to see and decide approvals. */
export type KeyScope = 'run' | 'approve'

/** Holder of a key. One without a name has every right. */
export interface KeyHolder {
  readonly name: string | undefined
  readonly scopes: readonly KeyScope[]
}

/** Key of an adapter. */
export interface ApiKey extends KeyHolder {
  readonly secret: string
}

const EVERY_SCOPE: readonly KeyScope[] = Object.freeze(['run', 'approve'])
/** `name:scope+scope:key`; the key may have colons, and no comma. */
const NAMED_KEY = /^([\w.@-]{1,64}):((?:run|approve)(?:\+(?:run|approve))*):([^,]+)$/

/**
 * Reads the keys of an adapter: one key, or named ones, `alice:run+approve:<key>,ci:run:<key>`.
 *
 * @throws Error that describes the format, without the keys
 */
export function readApiKeys(text: string): ApiKey[] {
  const entries = text.split(',')
  const keys = entries.flatMap(readNamedKey)
  if (keys.length === 0) return [{ name: undefined, scopes: EVERY_SCOPE, secret: text }]
  if (keys.length < entries.length)
    throw new Error('must be one key, or entries like alice:run+approve:<key> with commas')
  if (new Set(keys.map(({ secret }) => secret)).size < keys.length)
    throw new Error('must not have one key under two names')
  return keys
}

/** Returns a function that finds the holder of a key in constant time. */
export function makeKeyFinder(text: string): (credentials: string) => KeyHolder | undefined {
  const keys = readApiKeys(text).map(({ secret, ...holder }) => ({ expected: digest(secret), holder }))
  return (credentials) => {
    const given = digest(credentials)
    return keys.filter(({ expected }) => timingSafeEqual(expected, given))[0]?.holder
  }
}

function readNamedKey(entry: string): ApiKey[] {
  const [, name, scopes = '', secret = ''] = NAMED_KEY.exec(entry) ?? []
  return name === undefined ? [] : [{ name, scopes: scopes.split('+') as KeyScope[], secret }]
}

/** Digests, because the comparison itself throws on unequal lengths. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
