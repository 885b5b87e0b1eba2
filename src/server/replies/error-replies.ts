import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  type DescribeFailure,
  describeFault,
  describeRefusal,
  isTimeout,
  levelOfFailure,
} from '../../assembly/failures.ts'
import { type ErrorCode, HostError, LimitReached, messageOf, systemCodeOf } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import { STORE_REMOVED } from '../../store/record-store.ts'
import {
  CLIENT_HAS_LEFT,
  type Failure,
  type LoggedRequest,
  logLeaving,
  noteFailure,
  noteFailureInside,
} from '../monitoring/request-log.ts'
import { COMPAT, type Dialect } from './dialect.ts'
import { withFieldOfPart } from './field-of-part.ts'

/** Answer to a request that ends with an error. */
export interface ErrorReply {
  readonly statusCode: number
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Both official OpenAI clients repeat a 500 twice: a failing agent would run three times. */
const NO_RETRY = { 'x-should-retry': 'false' }
/** Clients would wait longer than their callers do. */
const LONGEST_WAIT_SECONDS = 60
const RETRY_LATER = { 'retry-after': '1' }

/** Replies to errors of our own codes; any other is answered with the message, and the status of the code. */
const REPLIES: Partial<Record<ErrorCode, (error: HostError, describeFailure: DescribeFailure) => Partial<ErrorReply>>> =
  {
    AGENT_NOT_FOUND: () => ({ detail: 'model not found' }),
    AGENT_FAILED: (error, describeFailure) => ({ detail: describeFailure(error), headers: NO_RETRY }),
    OUTPUT_INVALID: () => ({ headers: NO_RETRY }),
    CONTEXT_TOO_LONG: () => ({ headers: NO_RETRY }),
    QUOTA_EXHAUSTED: () => ({ headers: NO_RETRY }),
    APPROVAL_DECIDED: () => ({ headers: NO_RETRY }),
    RUN_ABORTED: (error, describeFailure) => ({
      statusCode: isTimeout(error.cause) ? error.cause.statusCode : 503,
      detail: describeFailure(error),
      headers: NO_RETRY,
    }),
    UNAUTHORIZED: () => ({ headers: { 'www-authenticate': 'Bearer' } }),
    OVERLOADED: () => ({ headers: RETRY_LATER }),
    TOO_MANY_ATTEMPTS: () => ({ headers: { 'retry-after': '60' } }),
    LIMIT_REACHED: (error) => ({ headers: error instanceof LimitReached ? headersOfLimit(error) : NO_RETRY }),
    STORE_UNAVAILABLE: ({ cause }) => ({
      detail: isRemoved(cause) ? 'The store of responses was removed' : 'The store of responses cannot be reached',
      headers: RETRY_LATER,
    }),
    ISSUER_UNAVAILABLE: () => ({
      detail: 'The token cannot be checked: its issuer gives no keys',
      headers: RETRY_LATER,
    }),
    // Its name is in the log: the sender of a trigger need not know of keys.
    KEY_MISSING: () => ({ detail: 'Nothing can be started here at this moment' }),
    SHUTTING_DOWN: () => ({ headers: { ...RETRY_LATER, connection: 'close' } }),
  }

/** Clients repeat what is refused for a moment; a run that has failed half way is none of that. */
function headersOfLimit({ limited, retryAfterSeconds: seconds }: LimitReached): Record<string, string> {
  // draft-ietf-httpapi-ratelimit-headers-10, section 4.
  const headers = { 'retry-after': String(seconds), ratelimit: `"${limited}";r=0;t=${seconds}` }
  return seconds > LONGEST_WAIT_SECONDS ? { ...headers, ...NO_RETRY } : headers
}

/** Its path is in the log, and not for clients. */
function isRemoved(cause: unknown): boolean {
  return systemCodeOf(cause) === STORE_REMOVED
}

/** Answers every error in the format of a dialect, and logs errors of the server and of agents. */
export function makeErrorHandler(describeFailure: DescribeFailure, dialect: Pick<Dialect, 'toErrorReply'> = COMPAT) {
  return (thrown: FastifyError | HostError, request: FastifyRequest, reply: FastifyReply): void => {
    const error = thrown instanceof HostError ? withFieldOfPart(thrown, request.body) : thrown
    const { headers = {}, ...refusal } = replyFor(error, describeFailure)
    noteFailure(request, refusal.statusCode >= 500 ? describeFault(error, request.log) : toReason(error, refusal))
    // Node then reads the rest of the body and drops it, for as long as a request may take: a client that is cut off while it sends never
    // learns why, and sends it again (RFC 9112, 9.6).
    if (refusal.statusCode === 413) reply.removeHeader('connection')
    // Fastify calls no hook for a client that has left: the line of the request never comes.
    if (reply.raw.destroyed) {
      if (error === request.raw.errored) logLeaving(reply)
      else logFailure(error, request)
    }
    const { statusCode, body, headers: own = headers } = dialect.toErrorReply(refusal, error)
    reply.code(statusCode).headers(own).send(body)
  }
}

/** Errors of our own say more to the log than to clients; those of Fastify less. */
function toReason(error: FastifyError | HostError, { detail }: ErrorReply): string {
  return error instanceof HostError ? describeRefusal(error) : detail
}

export function replyFor(error: unknown, describeFailure: DescribeFailure): ErrorReply {
  if (error instanceof HostError) {
    const reply = {
      statusCode: error.statusCode,
      detail: error.message,
      ...REPLIES[error.code]?.(error, describeFailure),
    }
    return reply.statusCode === 500 && !SHOWN.has(error.code) ? { ...reply, detail: INTERNAL } : reply
  }
  const { statusCode: given } = fieldsOf(error)
  const statusCode = typeof given === 'number' ? given : 500
  return { statusCode, detail: statusCode < 500 ? (DETAILS[statusCode] ?? messageOf(error)) : INTERNAL }
}

/** Codes of status 500 whose message is meant for the client. */
const SHOWN: ReadonlySet<string> = new Set(['AGENT_FAILED', 'OUTPUT_INVALID'])

/** A 500 never shows a message: it may hold anything. `x-request-id` finds it in the log. */
const INTERNAL = 'Internal Server Error'

export const DETAILS: Readonly<Record<number, string>> = {
  413: 'The body is too large',
  414: 'The path is too long',
  415: 'The body must be uncompressed JSON in UTF-8, with the header Content-Type: application/json',
}

/** Logs a failure of what has no line of its own in the log: a stream that has begun, a run in the background. */
export function logFailure(error: unknown, { id: reqId, log }: Pick<FastifyRequest, 'id' | 'log'>): void {
  // That the client has left is a line already.
  const reason = error instanceof HostError ? error.cause : error
  if (reason instanceof Error && reason.message === CLIENT_HAS_LEFT) return
  log[levelOfFailure(error)]({ reqId }, describeFault(error, log))
}

/** Answers errors that Node reports before there is a request: a malformed, oversized or endless head. */
export function rawErrorReply(error: NodeJS.ErrnoException): string {
  const statusCode = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
  const body = JSON.stringify({ detail: STATUS_CODES[statusCode] })
  const head = `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\nContent-Type: application/json; charset=utf-8`
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

/** Has the line of a request tell a failure within its answer: a stream that has begun, a call of MCP. Logs it where no line will. */
export function logFailureInside(error: unknown, request: LoggedRequest): void {
  if (!noteFailureInside(request, toFailure(error, request))) logFailure(error, request)
}

/** A failure as the line of its request tells it. */
export function toFailure(error: unknown, { log }: Pick<LoggedRequest, 'log'>): Failure {
  return { level: levelOfFailure(error), description: describeFault(error, log) }
}
