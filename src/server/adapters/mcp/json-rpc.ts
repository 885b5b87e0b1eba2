import { isObject } from '../../../json.ts'
/** An id of a request; it comes back in the answer as it was sent, with its type. A number beyond 2^53 is a bigint. */
export type RequestId = string | number | bigint

/** A request, or a notification when it has no id (JSON-RPC 2.0, section 4). */
export interface Request {
  readonly id?: RequestId
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** Of the range for servers' own errors. */
export const UNAUTHORIZED = -32001
/** MCP, up to 2025-11-25; the SDK makes it `INVALID_PARAMS` for later versions. */
export const RESOURCE_NOT_FOUND = -32002

/** Limit of a key or a tenant. */
export const LIMIT_REACHED = -32003

/** Error sent in reply to a request, instead of a result. */
export class JsonRpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Returns the error for parameters that do not fit. */
export function invalidParams(message: string): JsonRpcError {
  return new JsonRpcError(INVALID_PARAMS, `Invalid params: ${message}`)
}

/** An answer without `result` or `error`: there is nothing to say to a notification. */
export const NOTHING = ''

export function success(id: RequestId, result: unknown): string {
  return `{"jsonrpc":"2.0","id":${writeId(id)},"result":${JSON.stringify(result)}}`
}

export function failure(id: RequestId | null, code: number, message: string): string {
  return `{"jsonrpc":"2.0","id":${writeId(id)},"error":${JSON.stringify({ code, message })}}`
}

function writeId(id: RequestId | null): string {
  return typeof id === 'bigint' ? String(id) : JSON.stringify(id)
}

export function notification(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

/**
 * Reads one message.
 *
 * @returns undefined for a response
 * @throws JsonRpcError `INVALID_REQUEST`, `INVALID_PARAMS`
 */
export function readMessage(value: unknown): Request | undefined {
  if (!isObject(value)) throw new JsonRpcError(INVALID_REQUEST, 'Invalid Request: a message must be an object')
  const { jsonrpc, id, method } = value
  const params = value.params ?? {}
  if (jsonrpc !== '2.0') throw new JsonRpcError(INVALID_REQUEST, 'Invalid Request: jsonrpc must be "2.0"')
  if (method === undefined && ('result' in value || 'error' in value)) return undefined
  if (typeof method !== 'string' || method === '') {
    throw new JsonRpcError(INVALID_REQUEST, 'Invalid Request: method must be a string')
  }
  if ('id' in value && !isId(id)) {
    throw new JsonRpcError(INVALID_REQUEST, 'Invalid Request: id must be a string or a number')
  }
  if (!isObject(params)) throw invalidParams('params must be an object')
  return isId(id) ? { id, method, params } : { method, params }
}

/** The id of an answer to this message; null when it is unknown. */
export function idOf(value: unknown): RequestId | null {
  return isObject(value) && isId(value.id) ? value.id : null
}

/** Reports whether a message, however wrong, is a notification: those are never answered (JSON-RPC 2.0, section 4.1). */
export function isNotification(value: unknown): boolean {
  return isObject(value) && value.jsonrpc === '2.0' && typeof value.method === 'string' && !('id' in value)
}

/** The parsed message with its id as it was written: JavaScript rounds whole numbers beyond 2^53. */
export function withExactId(message: unknown, text: string): unknown {
  if (!isObject(message) || typeof message.id !== 'number' || !Number.isInteger(message.id)) return message
  if (Number.isSafeInteger(message.id)) return message
  const fitting = new Set<string>()
  // Without a list of all ids, of which a text may have millions. Numbers of fewer digits are never rounded.
  for (const [, digits = ''] of text.matchAll(/"id"\s*:\s*(-?\d{16,})\b/g)) {
    if (Number(digits) === message.id) fitting.add(digits)
    if (fitting.size > 1) return message
  }
  const [digits] = fitting
  return digits === undefined ? message : { ...message, id: BigInt(digits) }
}

/** Compares an id with one that stands where only plain JSON numbers are read. */
export function isSameId(id: RequestId, other: unknown): boolean {
  return id === other || (typeof id === 'bigint' && Number(id) === other)
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
}
