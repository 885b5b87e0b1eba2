import { CLIENT_CODES, HostError } from '../../../../errors.ts'
import { type LoggedRequest, noteFailureInside, noteRefusalInside } from '../../../monitoring/request-log.ts'
import { logFailureInside } from '../../../replies/error-replies.ts'
import { INTERNAL_ERROR, invalidParams, JsonRpcError, LIMIT_REACHED, METHOD_NOT_FOUND } from '../json-rpc.ts'

/** Makes the error that a request is answered with. A failure that is not the client's stands in the log, too. */
export type ToRpcError = (error: unknown, source: LoggedRequest) => JsonRpcError

export function makeToRpcError(describeFailure: (error: unknown) => string): ToRpcError {
  return (error, source) => {
    const refusal = toRefusal(error)
    if (refusal) noteRefusal(refusal, source)
    else logFailureInside(error, source)
    return refusal ?? new JsonRpcError(INTERNAL_ERROR, describeFailure(error))
  }
}

/** The error for a fault of the request, or of the moment; undefined for any other. */
function toRefusal(error: unknown): JsonRpcError | undefined {
  if (error instanceof JsonRpcError) return error
  if (!(error instanceof HostError)) return undefined
  if (INVALID.has(error.code)) return invalidParams(error.message)
  if (error.code === 'LIMIT_REACHED') return new JsonRpcError(LIMIT_REACHED, error.message)
  return REFUSED.has(error.code) ? new JsonRpcError(INTERNAL_ERROR, error.message) : undefined
}

/** Has the line of the request tell why it was refused. Clients try methods to learn what a server has: that is no refusal. */
export function noteRefusal({ code, message }: JsonRpcError, source: LoggedRequest): void {
  if (code === LIMIT_REACHED) noteRefusalInside(source, 429)
  if (code !== METHOD_NOT_FOUND) noteFailureInside(source, { level: 'warn', description: message })
}

const INVALID: ReadonlySet<string> = new Set(['AGENT_NOT_FOUND', 'REQUEST_INVALID', 'APPROVAL_DECIDED'])
const REFUSED: ReadonlySet<string> = new Set([
  'OVERLOADED',
  'SHUTTING_DOWN',
  'AUDIT_UNAVAILABLE',
  ...Object.keys(CLIENT_CODES),
])
