import { hash } from 'node:crypto'
import { decodeBase64, encodeBase64 } from '../../base64.ts'
import { ERROR_CODES, type ErrorCode, HostError, messageOf } from '../../errors.ts'

/** A value of JSON. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** Keeps bytes, and returns the hash by which a value names them. */
export type KeepBytes = (sha256: string, bytes: Uint8Array) => void

const MAX_DEPTH = 200
/** Longer `data:` URLs are kept as bytes. */
const MAX_URL = 1000

/**
 * Any value as JSON that {@link decodeValue} turns back: bytes by their hash, and what JSON has no form for as an object with one
 * name that begins with `$`. What cannot be written (a function, a circle) is named, and cannot be played. Never throws.
 */
export function encodeValue(value: unknown, keep: KeepBytes): JsonValue {
  return encode(value, keep, [])
}

/** As {@link encodeValue}, for what is written at once: a value that JSON has as it is, and most are, is not copied. */
export function encodeToWrite(value: unknown, keep: KeepBytes): JsonValue {
  return isJson(value) ? value : encode(value, keep, [])
}

function isJson(value: unknown): value is JsonValue {
  try {
    return isPlain(value, [])
  } catch {
    // A property that cannot be read: the copy names it.
    return false
  }
}

/** @param within the objects around the value */
function isPlain(value: unknown, within: object[]): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || within.length > MAX_DEPTH || within.includes(value)) return false
  within.push(value)
  const isEachPlain = Array.isArray(value)
    ? hasPlainItems(value, within)
    : isPlainObject(value) && hasPlainFields(value as Record<string, unknown>, within)
  within.pop()
  return isEachPlain
}

function hasPlainItems(items: readonly unknown[], within: object[]): boolean {
  for (const item of items) if (!isPlain(item, within)) return false
  return true
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value)
}

function hasPlainFields(value: Record<string, unknown>, within: object[]): boolean {
  for (const name in value) {
    if (name.startsWith('$')) return false
    const field = value[name]
    if (field !== undefined && !isPlain(field, within)) return false
  }
  return true
}

function encode(value: unknown, keep: KeepBytes, within: object[]): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { $number: Object.is(value, -0) ? '-0' : String(value) }
    case 'bigint':
      return { $bigint: String(value) }
    case 'undefined':
      return { $undefined: true }
    case 'object':
      break
    default:
      return { $opaque: typeof value === 'function' ? `function ${value.name}` : String(value) }
  }
  if (value === null) return null
  if (within.includes(value)) return { $opaque: 'a circle' }
  if (within.length > MAX_DEPTH) return { $opaque: 'nested too deep' }
  within.push(value)
  try {
    return encodeObject(value, keep, within)
  } catch (error) {
    return { $opaque: `unreadable: ${messageOf(error)}` }
  } finally {
    within.pop()
  }
}

function encodeObject(value: object, keep: KeepBytes, within: object[]): JsonValue {
  if (Array.isArray(value)) return value.map((item) => encode(item, keep, within))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    const special = encodeSpecial(value, keep, within)
    if (special !== undefined) return special
  }
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return encode(toJSON.call(value), keep, within)
  const names = Object.keys(value)
  const copy: Record<string, JsonValue> = {}
  for (const name of names) {
    const field = (value as Record<string, unknown>)[name]
    // As JSON does: a field that is undefined is not there.
    if (field !== undefined && typeof field !== 'function') setField(copy, name, encode(field, keep, within))
  }
  return isMarked(copy) ? { $plain: copy } : copy
}

function encodeSpecial(value: object, keep: KeepBytes, within: object[]): JsonValue | undefined {
  if (value instanceof Float32Array)
    return { $floats: encodeBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) }
  if (value instanceof ArrayBuffer) return { $bytes: keepBytes(new Uint8Array(value), keep) }
  if (ArrayBuffer.isView(value)) {
    return { $bytes: keepBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), keep) }
  }
  if (value instanceof URL) {
    if (value.href.length <= MAX_URL || value.protocol !== 'data:') return { $url: value.href }
    return { $data_url: keepBytes(Buffer.from(value.href), keep) }
  }
  if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? 'invalid' : value.toISOString() }
  if (value instanceof Error) return { $error: encodeError(value, keep, within) }
  if (value instanceof Set) return { $set: [...value].map((item) => encode(item, keep, within)) }
  if (value instanceof Map) return { $map: [...value].map((pair) => encode(pair, keep, within)) }
  return undefined
}

/** Anything thrown, with the fields by which callers tell errors apart. */
export function encodeError(error: unknown, keep: KeepBytes, around: object[] = []): JsonValue {
  if (!(error instanceof Error)) return { thrown: encode(error, keep, around) }
  const { name, message, cause, stack: _stack, ...fields } = error as Error & Record<string, unknown>
  const within = around.at(-1) === error ? around : [...around, error]
  const hasCause = cause !== undefined && within.length <= MAX_DEPTH && !within.some((outer) => outer === cause)
  return {
    name: error.name,
    message,
    ...(error instanceof HostError ? { code: error.code } : {}),
    fields: encode(error instanceof HostError ? withoutFacts(fields) : fields, keep, within),
    ...(hasCause ? { cause: encodeError(cause, keep, within) } : {}),
  }
}

function withoutFacts({
  statusCode: _status,
  code: _code,
  ...fields
}: Record<string, unknown>): Record<string, unknown> {
  return fields
}

/** `__proto__` is a name like any other. */
function setField(target: object, name: string, value: unknown): void {
  if (name !== '__proto__') (target as Record<string, unknown>)[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true })
}

function keepBytes(bytes: Uint8Array, keep: KeepBytes): string {
  const sha256 = hash('sha256', bytes)
  keep(sha256, bytes)
  return sha256
}

function isMarked(value: object): boolean {
  const [name, ...others] = Object.keys(value)
  return name?.startsWith('$') === true && others.length === 0
}

/** Finds kept bytes by their hash. */
export type FindBytes = (sha256: string) => Uint8Array

/**
 * The value that {@link encodeValue} wrote.
 *
 * @throws Error for a value that could not be written, or was edited into something else
 */
export function decodeValue(json: JsonValue, find: FindBytes): unknown {
  if (typeof json !== 'object' || json === null) return json
  if (isList(json)) return json.map((item) => decodeValue(item, find))
  if (!isMarked(json)) return decodeFields(json, find)
  const [[mark = '', value = null] = []] = Object.entries(json)
  switch (mark) {
    case '$number':
      return Number(value)
    case '$bigint':
      return BigInt(String(value))
    case '$undefined':
      return undefined
    case '$floats': {
      const bytes = Uint8Array.from(decodeBase64(String(value)))
      return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / Float32Array.BYTES_PER_ELEMENT))
    }
    case '$bytes':
      return find(String(value))
    case '$data_url':
      return new URL(Buffer.from(find(String(value))).toString())
    case '$url':
      return new URL(String(value))
    case '$date':
      return new Date(String(value))
    case '$error':
      return decodeError(value, find)
    case '$set':
      return new Set(listOf(value).map((item) => decodeValue(item, find)))
    case '$map':
      return new Map(listOf(value).map((pair) => decodeValue(pair, find) as [unknown, unknown]))
    case '$plain':
      return decodeFields(jsonFields(value), find)
    default:
      throw new Error(`it has a value that a tape cannot hold (${String(value)}).`)
  }
}

/** Error that {@link encodeError} wrote, to throw. */
export function decodeError(json: JsonValue, find: FindBytes): unknown {
  const { name, message, code, fields = {}, cause, thrown } = jsonFields(json)
  if (thrown !== undefined) return decodeValue(thrown, find)
  const options = cause === undefined ? {} : { cause: decodeError(cause, find) }
  const rest = decodeValue(fields, find) as { suggestions?: readonly string[]; field?: string }
  if (code !== undefined && Object.hasOwn(ERROR_CODES, String(code))) {
    return new HostError(code as ErrorCode, String(message), { ...rest, ...options })
  }
  const error = new Error(String(message), options)
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  return Object.assign(error, rest)
}

function decodeFields(json: { readonly [name: string]: JsonValue }, find: FindBytes): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(json)) setField(copy, name, decodeValue(value, find))
  return copy
}

function isList(json: JsonValue): json is readonly JsonValue[] {
  return Array.isArray(json)
}

function listOf(json: JsonValue): readonly JsonValue[] {
  return isList(json) ? json : []
}

export function jsonFields(json: JsonValue): { readonly [name: string]: JsonValue } {
  return typeof json === 'object' && json !== null && !isList(json) ? json : {}
}
