import { STATUS_CODES } from 'node:http'
import { HostError } from '../../errors.ts'
import type { ServerOptions } from '../options.ts'

/** Answer to a request that is refused. */
export interface Refusal {
  readonly statusCode: number
  readonly detail: string
}

/** Format of an API under one prefix. The same handlers serve all dialects, with the same requests. */
export interface Dialect {
  readonly prefix: string
  /** True if answers may extend the specification: `event:` lines, states, descriptions of models. */
  readonly isExtended: boolean
  /** @param error cause of the refusal, if there is one */
  toErrorReply(refusal: Refusal, error?: Error): { statusCode: number; body: object }
}

/** The specification, to the byte. */
export const COMPAT: Dialect = Object.freeze({
  prefix: '/compat',
  isExtended: false,
  toErrorReply: ({ statusCode, detail }: Refusal) => ({ statusCode, body: { detail } }),
})

/** The same API as the vendors and their clients speak it. */
export const V1: Dialect = Object.freeze({ prefix: '/v1', isExtended: true, toErrorReply: toVendorError })

/** Dialect of a path, also of one that no route is for. */
export function dialectOf(path: string, { noV1 }: ServerOptions): Dialect {
  if (noV1) return COMPAT
  // Within an app of somebody else another prefix comes first.
  const isV1 =
    path.startsWith(`${V1.prefix}/`) || (path.includes(`${V1.prefix}/`) && !path.includes(`${COMPAT.prefix}/`))
  return isV1 ? V1 : COMPAT
}

function toVendorError({ statusCode: status, detail }: Refusal, error?: Error): { statusCode: number; body: object } {
  const { code, field = null, suggestions = [] } = error instanceof HostError ? error : {}
  const isUnknownModel = code === 'AGENT_NOT_FOUND'
  const isUnknownPrevious = code === 'RESPONSE_NOT_FOUND' && field === 'previous_response_id'
  const statusCode = isUnknownModel ? 404 : status
  const message = isUnknownModel ? [error?.message, ...suggestions].join(' ') : detail
  const vendorError = {
    message,
    type: TYPES[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'server_error'),
    param: isUnknownModel ? 'model' : field,
    code: isUnknownModel ? 'model_not_found' : isUnknownPrevious ? 'previous_response_not_found' : codeOf(statusCode),
  }
  return { statusCode, body: { error: vendorError, detail } }
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
