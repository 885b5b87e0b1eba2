import { HostError } from '../../../../errors.ts'
import type { LoggedRequest } from '../../../monitoring/request-log.ts'
import { logFailureInside } from '../../../replies/error-replies.ts'
import { INTERNAL_ERROR, invalidParams, JsonRpcError } from '../json-rpc.ts'

/** Makes the error that a request is answered with. A failure that is not the client's stands in the log, too. */
export type ToRpcError = (error: unknown, source: LoggedRequest) => JsonRpcError

export function makeToRpcError(describeFailure: (error: unknown) => string): ToRpcError {
  return (error, source) => {
    if (error instanceof JsonRpcError) return error
    if (error instanceof HostError) {
      if (INVALID.has(error.code)) return invalidParams(error.message)
      if (REFUSED.has(error.code)) return new JsonRpcError(INTERNAL_ERROR, error.message)
    }
    logFailureInside(error, source)
    return new JsonRpcError(INTERNAL_ERROR, describeFailure(error))
  }
}

const INVALID: ReadonlySet<string> = new Set(['AGENT_NOT_FOUND', 'REQUEST_INVALID'])
const REFUSED: ReadonlySet<string> = new Set(['OVERLOADED', 'SHUTTING_DOWN'])
