import { STATUS_CODES } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServerLog } from '../../assembly/project-log.ts'
import { formatDuration } from '../../wire/format-duration.ts'
import { principalOf } from '../guards/principal.ts'
import { isUpgrade } from '../streams/upgrade-route.ts'
import { isProbe } from './probes.ts'

export interface Failure {
  readonly description: string
  /** Of the line, where it is above that of the status. */
  readonly level: 'warn' | 'error'
}

/** Properties of the request itself: a map of all requests would cost each of them a microsecond. */
const REPLY = Symbol('reply')
const REFUSAL = Symbol('refusal')
const FAILURE = Symbol('failure')
const HAS_LEFT = Symbol('has left')
const AGENT = Symbol('agent')

/** Request as the log sees it. */
export interface LoggedRequest extends Pick<FastifyRequest, 'id' | 'log'> {
  /** Answer that a line follows; none over stdio, nor where another app logs. */
  [REPLY]?: FastifyReply
  /** Description of the error that it is answered with. */
  [REFUSAL]?: string
  /** Failure within an answer of status 200. */
  [FAILURE]?: Failure
  /** Name of the agent that it is for. */
  [AGENT]?: string
  /** Set once a line tells that its client has left. */
  [HAS_LEFT]?: true
}

/** Reason why a run ends whose client has left. */
export const CLIENT_HAS_LEFT = 'The client has left.'

/** Takes each refusal that is no status of an HTTP answer, with the status that it would be. */
type RefusalListener = (request: FastifyRequest, statusCode: number) => void

/** Property of an app: none where nothing listens. */
const ON_REFUSAL = Symbol('refusal listener')

/** Has a listener learn of each refusal of a message of a WebSocket, and of a call of MCP. */
export function onRefusal(app: FastifyInstance, listener: RefusalListener): void {
  ;(app as { [ON_REFUSAL]?: RefusalListener })[ON_REFUSAL] = listener
}

/** Tells of a refusal that is no status of an HTTP answer. */
export function noteRefusalInside(request: LoggedRequest, statusCode: number): void {
  const { server } = request as Partial<FastifyRequest>
  ;(server as { [ON_REFUSAL]?: RefusalListener } | undefined)?.[ON_REFUSAL]?.(request as FastifyRequest, statusCode)
}

/** Keeps the agent that a request runs, for its line. */
export function noteAgent(request: LoggedRequest, name: string): void {
  request[AGENT] = name
}

/** Facts of the line of a request, beside its text: who asks for what, and from where. The key itself is in no line. */
function factsOf(request: LoggedRequest & FastifyRequest): object {
  const { name: key, tenant } = principalOf(request)
  return { reqId: request.id, address: request.ip, key, tenant: tenant || undefined, agent: request[AGENT] }
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

/** Logs the line of a request whose client has left before it had its answer. Fastify calls no hook for it. */
export function logLeaving({ request, elapsedTime }: FastifyReply): void {
  const logged: FastifyRequest & LoggedRequest = request
  // The debug UI and other readers leave a stream when they have seen enough.
  if (!logged[REPLY] || logged[HAS_LEFT] || request.method === 'GET') return
  logged[HAS_LEFT] = true
  request.log.warn(factsOf(logged), `${describeStart(request, elapsedTime)}: ${LEFT}`)
}

const LEFT = 'The client has left before the answer was complete.'

/** Outcome of one message of a WebSocket. */
interface MessageOutcome {
  /** Status that the answer to a request would have; undefined where the client has left. */
  readonly statusCode: number | undefined
  readonly elapsedMs: number
  readonly failure?: Failure | undefined
}

/** Logs the line of a message of a WebSocket, as that of a request. */
export function logMessage(
  request: LoggedRequest & FastifyRequest,
  { statusCode, elapsedMs, failure }: MessageOutcome,
): void {
  if (statusCode !== undefined) noteRefusalInside(request, statusCode)
  if (!request[REPLY]) return
  const { log, url } = request
  const facts = factsOf(request)
  const start = describeStart({ method: 'WS', url }, elapsedMs, statusCode)
  if (statusCode === undefined) log.warn(facts, `${start}: ${LEFT}`)
  else if (failure) log[failure.level](facts, `${start}: ${failure.description}`)
  else log.info(facts, start)
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
      log[level](factsOf(request), describeRequest(request, reply))
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

function describeRequest(request: FastifyRequest & LoggedRequest, { statusCode, elapsedTime }: FastifyReply): string {
  const { [REFUSAL]: refusal, [FAILURE]: failure } = request
  const line = describeStart(request, elapsedTime, statusCode)
  if (failure) return `${line}: ${failure.description}`
  return statusCode >= 400 ? `${line}: ${refusal ?? STATUS_CODES[statusCode] ?? 'refused'}` : line
}

/** The query is left out: clients put secrets there. */
function describeStart(
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
  elapsedMs: number,
  statusCode?: number,
): string {
  const path = url.split('?', 1)[0]
  return `${method} ${path} ${statusCode === undefined ? '' : `${statusCode} `}${formatDuration(elapsedMs)}`
}
