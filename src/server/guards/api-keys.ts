import { digestOf, type Key } from './key.ts'
import { type KeyScope, makePrincipal } from './principal.ts'

/** Key of an adapter, from its option or variable. */
export interface ApiKey {
  /** A key without a name has the scopes `run` and `approve`. */
  readonly name: string | undefined
  readonly scopes: readonly KeyScope[]
  readonly secret: string
}

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
  if (keys.length === 0) return [{ name: undefined, scopes: ['run', 'approve'], secret: text }]
  if (keys.length < entries.length)
    throw new Error('must be one key, or entries like alice:run+approve:<key> with commas')
  if (new Set(keys.map(({ secret }) => secret)).size < keys.length)
    throw new Error('must not have one key under two names')
  return keys
}

/** Returns the keys that open the door of an adapter, as {@link readApiKeys} reads them. */
export function keysOf(text: string | undefined): Key[] {
  if (text === undefined) return []
  return readApiKeys(text).map(({ secret, ...holder }) => ({
    digest: digestOf(secret),
    principal: makePrincipal(holder),
  }))
}

function readNamedKey(entry: string): ApiKey[] {
  const [, name, scopes = '', secret = ''] = NAMED_KEY.exec(entry) ?? []
  return name === undefined ? [] : [{ name, scopes: scopes.split('+') as KeyScope[], secret }]
}
