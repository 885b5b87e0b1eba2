import { AsyncResource } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { versions } from 'node:process'
import fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import type { DescribeFailure } from '../assembly/failures.ts'
import type { ServerLog } from '../assembly/project-log.ts'
import { acceptJsonOnly } from './bodies/json-body.ts'
import { limitParsedBytes } from './bodies/limit-parsed-bytes.ts'
import { makeQueryValidator } from './bodies/query-validator.ts'
import { makeValidator } from './bodies/validator.ts'
import { trackMethods } from './guards/allowed-methods.ts'
import { limitSockets } from './guards/limit-sockets.ts'
import { makeIsProxy } from './guards/trusted-proxies.ts'
import type { ServerOptions } from './options/options.ts'
import { dialectOf } from './replies/dialect.ts'
import { makeErrorHandler, rawErrorReply } from './replies/error-replies.ts'

/** Time that a request has to arrive. Fastify turns Node's own limits off. */
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/** Interval at which Node looks for connections over a limit; its default of 30 s would make them 30 s longer. */
const CONNECTIONS_CHECK_MS = 1000
/** Time that a client gets to read the answer to a request that could not be read. */
const LINGER_MS = 1000

/** Creates an app without routes: its limits, the parsing of bodies, and the replies to errors. */
export function makeApp(options: ServerOptions, log: ServerLog, describeFailure: DescribeFailure): FastifyInstance {
  const { bodyLimit, trustedProxies, ...limits } = options
  keepTickShape()
  const isProxy = trustedProxies.length > 0 ? makeIsProxy(trustedProxies) : undefined
  const process = randomUUID().slice(0, 8)
  let requests = 0
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // A child logger for each request would cost more than the whole agent; the lines that are written name the request.
    childLoggerFactory: (logger) => logger,
    logController: new fastify.LogController({ disableRequestLogging: true }),
    genReqId: () => `${process}-${(++requests).toString(36)}`,
    bodyLimit,
    // The right-most address of `X-Forwarded-For` that is no proxy. Its host and protocol only change addresses in answers.
    trustProxy: isProxy ?? false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // Node's own refusal of a request without a host has no body; the check of hosts refuses it.
      requireHostHeader: false,
    },
    // A slow disk is waited for (`onStart`), and so is work that drains: that has a limit of its own.
    pluginTimeout: 0,
    // The own hook answers with a body of the right shape.
    return503OnClosing: false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: true },
    frameworkErrors: makeErrorHandler(describeFailure),
    clientErrorHandler: answerAndClose,
  })
  // A server may ignore an expectation that it does not know (RFC 9110, 10.1.1). Node would send a bare 417, which nothing logs.
  app.server.on('checkExpectation', (...exchange) => app.server.emit('request', ...exchange))
  setRules(app, describeFailure, options)
  limitSockets(app.server, {
    maxConnections: limits.maxConnections,
    maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
    isProxy,
    writeTimeoutMs: limits.writeTimeout * 1000,
    maxUnsentBytes: limits.maxUnsentMb * 1024 * 1024,
  })
  return app
}

/** Sets the parsing and validation of bodies, and the replies to errors. */
export function setRules(app: FastifyInstance, describeFailure: DescribeFailure, options: ServerOptions): void {
  app.setValidatorCompiler<TSchema>(({ schema, httpPart }) =>
    httpPart === 'querystring' ? makeQueryValidator(schema) : makeValidator(schema),
  )
  // Errors before routing, such as a wrong content type, also use the dialect of their path.
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const [path = ''] = request.url.split('?', 1)
    makeErrorHandler(describeFailure, dialectOf(path, options, app.prefix))(error, request, reply)
  })
  acceptJsonOnly(app)
  limitParsedBytes(app)
}

/** Gives each request an id, and each answer the headers that guard it. */
export function nameRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    for (const [name, value] of GUARDS) reply.header(name, value)
    done()
  })
}

const NO_ADAPTER =
  ': this server has no adapter, so it serves no API. Start it with one: --adapter ChatCompatApiAdapter'

/** Answers a path without a route with 404, and a method that a path does not have with 405. */
export function answerUnknownRoutes(app: FastifyInstance, options: ServerOptions): void {
  const methodsOf = trackMethods(app)
  const notFound = `Not Found${options.adapters.length === 0 ? NO_ADAPTER : ''}`
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const methods = methodsOf(path)
    if (methods.length > 0) reply.header('allow', methods.join(', '))
    const [statusCode, detail] = methods.length === 0 ? [404, notFound] : [405, 'Method Not Allowed']
    return reply.code(statusCode).send(dialectOf(path, options, app.prefix).toErrorReply({ statusCode, detail }).body)
  })
}

/** The client gets a moment to read why; a socket that it keeps open must not stay. */
function answerAndClose(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  socket.end(rawErrorReply(error))
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** No browser guesses types of answers, keeps them, or embeds them into other sites. Routes may say otherwise. */
const GUARDS = [
  ['x-content-type-options', 'nosniff'],
  ['cache-control', 'no-store'],
  ['cross-origin-resource-policy', 'same-origin'],
] as const

const kept: object[] = []

/**
 * Keeps the shape (V8's hidden class) of the objects that `process.nextTick` makes in Node 20. If the whole heap is collected while there is
 * no such object, V8 forgets the shape, and code that has seen it makes each later object in 0.3 us instead of 0.05: up to a tenth of a plain
 * request, for as long as the process lives. Node 22 and 24 have the same fault, but there such an object cannot be made from outside.
 *
 * @returns the object that has the shape; undefined where none can be made
 */
export function keepTickShape(): object | undefined {
  const [asyncId, triggerId] = Object.getOwnPropertySymbols(new AsyncResource('agent-host'))
  if (!versions.node.startsWith('20.') || !asyncId || !triggerId) return undefined
  const [callback, args] = [() => {}, undefined]
  // In Node's order, with numbers that are no integers: that is how ids are represented there.
  kept[0] ??= { [asyncId]: 0.5, [triggerId]: 0.5, callback, args }
  return kept[0]
}
