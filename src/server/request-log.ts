import { STATUS_CODES } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServerLog } from '../assembly/project-log.ts'
import { isProbe } from './probes.ts'

/** Descriptions of errors that requests were answered with. */
const failures = new WeakMap<FastifyRequest, string>()

/** Keeps the description of the error that a request is answered with for the line of that request. */
export function noteFailure(request: FastifyRequest, description: string): void {
  failures.set(request, description)
}

/**
 * Logs one line a request: as a warning with its reason when it was refused, as an error when it failed. Routes with the log level
 * `warn` have no lines for requests that went well.
 */
export function logRequests(app: FastifyInstance, log: ServerLog): void {
  if (!log.isLevelEnabled('error')) return
  app.addHook('onResponse', (request, reply, done) => {
    const level = levelOf(reply.statusCode)
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
function describeRequest(request: FastifyRequest, { statusCode, elapsedTime }: FastifyReply): string {
  const path = request.url.split('?', 1)[0]
  const line = `${request.method} ${path} ${statusCode} ${Math.round(elapsedTime)} ms`
  return statusCode >= 400 ? `${line}: ${failures.get(request) ?? STATUS_CODES[statusCode] ?? 'refused'}` : line
}
