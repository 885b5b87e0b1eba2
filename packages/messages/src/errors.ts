import { type DialectReply, HostError, type Refusal } from 'agent-host'

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Returns the reply to a request that is refused, in the format of the protocol. */
export function toErrorReply({ statusCode, detail }: Refusal, error?: Error): DialectReply {
  const { code, limit, suggestions = [] } = error instanceof HostError ? error : {}
  if (limit) {
    const seconds = String(Math.max(1, Math.ceil(limit.retryAfterSeconds ?? 1)))
    const message = `The vendor of the model is at its limit. Please try again in ${seconds}s.`
    return { statusCode: limit.status, body: toError(limit.status, message), headers: { 'retry-after': seconds } }
  }
  if (code !== 'AGENT_NOT_FOUND') return { statusCode, body: toError(statusCode, detail) }
  return { statusCode: 404, body: toError(404, [`model: ${error?.message}`, ...suggestions].join(' ')) }
}

/** Body of an error. */
export function toError(statusCode: number, message: string) {
  const type = TYPES[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message } } as const
}

/** Error of a field of a request. */
export function invalid(field: string, problem: string): HostError {
  return new HostError('REQUEST_INVALID', `${field}: ${problem}`, { field })
}
