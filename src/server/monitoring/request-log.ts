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

/** Descriptions of errors that requests were answered with. */
const refusals = new WeakMap<FastifyRequest, string>()

/** By the ids of requests without a line yet: failures within an answer of status 200. */
const open = new Map<string, Failure | undefined>()

/** Keeps the description of the error that a request is answered with for the line of that request. */
export function noteFailure(request: FastifyRequest, description: string): void {
  refusals.set(request, description)
}

/**
 * Keeps a failure within a successful answer, such as a stream that has begun, for the line of that request.
 *
 * @returns false when no line will tell it: the line is written, or tells another failure
 */
export function noteFailureInside(requestId: string, failure: Failure): boolean {
  if (!open.has(requestId) || open.get(requestId)) return false
  open.set(requestId, failure)
  return true
}

/**
 * Logs one line a request: as a warning with its reason when it was refused, as an error when it failed. Routes with the log level
 * `warn` have no lines for requests that went well.
 */
export function logRequests(app: FastifyInstance, log: ServerLog): void {
  if (!log.isLevelEnabled('error')) return
  app.addHook('onRequest', (request, { raw }, done) => {
    // The answer to an upgrade never ends: its failures have lines of their own.
    if (!isUpgrade(request)) {
      open.set(request.id, undefined)
      // A request whose client left has no line.
      raw.once('close', () => open.delete(request.id))
    }
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const failure = open.get(request.id)
    open.delete(request.id)
    const level = failure?.level ?? levelOf(reply.statusCode)
    if (log.isLevelEnabled(level) && !(level === 'info' && isQuiet(request))) {
      log[level]({ reqId: request.id }, describeRequest(request, reply, failure))
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
  request: FastifyRequest,
  { statusCode, elapsedTime }: FastifyReply,
  failure: Failure | undefined,
): string {
  const path = request.url.split('?', 1)[0]
  const line = `${request.method} ${path} ${statusCode} ${Math.round(elapsedTime)} ms`
  if (failure) return `${line}: ${failure.description}`
  return statusCode >= 400 ? `${line}: ${refusals.get(request) ?? STATUS_CODES[statusCode] ?? 'refused'}` : line
}
