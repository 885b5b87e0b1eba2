import { STATUS_CODES } from 'node:http'
import { clientCodeOf, HostError, type ModelLimit } from '../../errors.ts'
import type { ServerOptions } from '../options/options.ts'

/** Answer to a request that is refused. */
export interface Refusal {
  readonly statusCode: number
  readonly detail: string
}

/** Answer in the format of a protocol. */
export interface DialectReply {
  readonly statusCode: number
  readonly body: object
  /** In the place of those of the refusal. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Returns the reply to a request that is refused, in the format of a protocol.
 *
 * @param error cause of the refusal, if there is one
 */
export type ErrorDialect = (refusal: Refusal, error?: Error) => DialectReply

/** Format of an API under one prefix. The same handlers serve all dialects, with the same requests. */
export interface Dialect {
  readonly prefix: string
  /** True if answers may extend the specification: `event:` lines, states, descriptions of models. */
  readonly isExtended: boolean
  readonly toErrorReply: ErrorDialect
}

/** The specification, to the byte. */
export const COMPAT: Dialect = Object.freeze({
  prefix: '/compat',
  isExtended: false,
  toErrorReply: ({ statusCode, detail }: Refusal) => ({ statusCode, body: { detail } }),
})

/** The same API as the vendors and their clients speak it. */
export const V1: Dialect = Object.freeze({ prefix: '/v1', isExtended: true, toErrorReply: toVendorError })

/**
 * Dialect of a path, also of one that no route is for.
 *
 * @param appPrefix of the app within another one, which may have parameters: `/:tenant/agents`
 */
export function dialectOf(path: string, { noV1 }: ServerOptions, appPrefix: string): Dialect {
  const before = appPrefix.split('/').filter((segment) => segment !== '').length + 1
  return !noV1 && `/${path.split('/')[before]}` === V1.prefix ? V1 : COMPAT
}

function toVendorError({ statusCode: status, detail }: Refusal, error?: Error): DialectReply {
  const { code, field = null, suggestions = [], limit } = error instanceof HostError ? error : {}
  if (limit) return toLimitReply(limit)
  const isUnknownModel = code === 'AGENT_NOT_FOUND'
  const isUnknownPrevious = code === 'RESPONSE_NOT_FOUND' && field === 'previous_response_id'
  const statusCode = isUnknownModel ? 404 : status
  const message = isUnknownModel ? [error?.message, ...suggestions].join(' ') : detail
  const known = clientCodeOf(error)
  const vendorError = {
    message,
    type:
      known === 'insufficient_quota'
        ? known
        : known === 'rate_limit_exceeded'
          ? 'rate_limit_error'
          : (TYPES[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'server_error')),
    param: isUnknownModel ? 'model' : field,
    code: isUnknownModel
      ? 'model_not_found'
      : isUnknownPrevious
        ? 'previous_response_not_found'
        : (known ?? codeOf(statusCode)),
  }
  return { statusCode, body: { error: vendorError, detail } }
}

/** A limit of the model's vendor is passed on: official clients repeat the request after that time. */
function toLimitReply({ status, retryAfterSeconds = 1 }: ModelLimit): DialectReply {
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds))
  const [statusCode, type, code] =
    status === 429 ? [429, 'rate_limit_error', 'rate_limit_exceeded'] : [503, 'server_error', 'server_is_overloaded']
  const message = `The vendor of the model is at its limit. Please try again in ${seconds}s.`
  return {
    statusCode,
    body: { error: { message, type, param: null, code }, detail: message },
    headers: { 'retry-after': String(seconds) },
  }
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
}

/** Code that identifies an error; null for an invalid field, which `param` names. */
function codeOf(statusCode: number): string | null {
  if (statusCode === 400) return null
  if (statusCode === 401) return 'invalid_api_key'
  if (statusCode === 500) return 'server_error'
  return (STATUS_CODES[statusCode] ?? '').toLowerCase().replaceAll(/\W+/g, '_')
}
