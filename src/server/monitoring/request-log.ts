import { STATUS_CODES } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServerLog } from '../../assembly/project-log.ts'
import { isUpgrade } from '../streams/upgrade-route.ts'
import { isProbe } from './probes.ts'

interface Failure {
  readonly description: string
  /** Of the line, where it is above that of the status. */
  readonly level: 'warn' | 'error'
}

/** Properties of the request itself: a map of all requests would cost each of them a microsecond. */
const REPLY = Symbol('reply')
const REFUSAL = Symbol('refusal')
const FAILURE = Symbol('failure')

/** Request as the log sees it. */
export interface LoggedRequest extends Pick<FastifyRequest, 'id' | 'log'> {
  /** Answer that a line follows; none over stdio, nor where another app logs. */
  [REPLY]?: FastifyReply
  /** Description of the error that it is answered with. */
  [REFUSAL]?: string
  /** Failure within an answer of status 200. */
  [FAILURE]?: Failure
}

/** Keeps the description of the error that a request is answered with for the line of that request. */
export function noteFailure(request: LoggedRequest, description: string): void {
  request[REFUSAL] = description
}

/**
 * Keeps a failure within a successful answer, such as a stream that has begun, for the line of that request.
 *
 * @returns false when no line will tell it: the line is written or tells another failure, or the client has left
 */
export function noteFailureInside(request: LoggedRequest, failure: Failure): boolean {
  const reply = request[REPLY]
  if (!reply || request[FAILURE] || !willEnd(reply)) return false
  request[FAILURE] = failure
  return true
}

/** The answer to an upgrade never ends, nor one whose client has left. */
function willEnd({ raw, request }: FastifyReply): boolean {
  return !raw.writableFinished && !raw.destroyed && !isUpgrade(request)
}

/**
 * Logs one line a request: as a warning with its reason when it was refused, as an error when it failed. Routes with the log level
 * `warn` have no lines for requests that went well.
 */
export function logRequests(app: FastifyInstance, log: ServerLog): void {
  if (!log.isLevelEnabled('error')) return
  app.addHook('onRequest', (request: FastifyRequest & LoggedRequest, reply, done) => {
    request[REPLY] = reply
    done()
  })
  app.addHook('onResponse', (request: FastifyRequest & LoggedRequest, reply, done) => {
    const level = request[FAILURE]?.level ?? levelOf(reply.statusCode)
    if (log.isLevelEnabled(level) && !(level === 'info' && isQuiet(request))) {
      log[level]({ reqId: request.id }, describeRequest(request, reply))
    }
    done()
  })
}

function isQuiet({ url, routeOptions }: FastifyRequest): boolean {
  return isProbe(url) || routeOptions.logLevel === 'warn'
}

function levelOf(statusCode: number): 'info' | 'warn' | 'error' {
  if (statusCode >= 500) return 'error'
  return statusCode >= 400 ? 'warn' : 'info'
}

/** The query is left out: clients put secrets there. */
function describeRequest(
  { method, url, [REFUSAL]: refusal, [FAILURE]: failure }: FastifyRequest & LoggedRequest,
  { statusCode, elapsedTime }: FastifyReply,
): string {
  const path = url.split('?', 1)[0]
  const line = `${method} ${path} ${statusCode} ${Math.round(elapsedTime)} ms`
  if (failure) return `${line}: ${failure.description}`
  return statusCode >= 400 ? `${line}: ${refusal ?? STATUS_CODES[statusCode] ?? 'refused'}` : line
}
