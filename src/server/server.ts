import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { type DescribeFailure, makeDescribeFailure } from '../assembly/failures.ts'
import { type AssembledProject, openProject } from '../assembly/open-project.ts'
import { NO_LINE, openLog, type ServerLog } from '../assembly/project-log.ts'
import type { Problem } from '../definition/problem.ts'
import { makeAdapterRuns } from '../durable/adapter-runs/tenant-runs.ts'
import type { RunService } from '../durable/run-service.ts'
import { HostError, messageOf } from '../errors.ts'
import type { AgentFolder } from '../host/agent-folder/agent-folder.ts'
import type { AgentHost } from '../host/host.ts'
import type { GaugeSpec } from '../telemetry/add-gauge.ts'
import { makeRedact } from '../trace/redact.ts'
import type { Adapter, DebugAdapterOptions } from './adapters/adapter.ts'
import { makeAdapterHttp } from './adapters/adapter-http.ts'
import { adapterName } from './adapters/adapter-name.ts'
import { BUILT_IN_ADAPTERS, type LoadedAdapter, loadAdapters } from './adapters/load-adapter.ts'
import { loadTranslation } from './adapters/load-translation.ts'
import { acceptJsonOnly } from './bodies/json-body.ts'
import { limitParsedBytes } from './bodies/limit-parsed-bytes.ts'
import { makeQueryValidator } from './bodies/query-validator.ts'
import { makeValidator } from './bodies/validator.ts'
import { trackMethods } from './guards/allowed-methods.ts'
import { readApiKeys } from './guards/api-keys.ts'
import { addCors } from './guards/cors.ts'
import type { Key } from './guards/door.ts'
import { Doors } from './guards/doors.ts'
import { checkHost, isLoopback, servedNames } from './guards/host-check.ts'
import { readKeysFile } from './guards/keys-file.ts'
import { limitSockets } from './guards/limit-sockets.ts'
import { Origins } from './guards/origins.ts'
import { principalOf } from './guards/principal.ts'
import { limitWrongKeys } from './guards/wrong-keys.ts'
import { addMetrics } from './monitoring/add-metrics.ts'
import { answerProbes } from './monitoring/probes.ts'
import { queueGauges } from './monitoring/queue-gauges.ts'
import { logRequests } from './monitoring/request-log.ts'
import { nameSlow, onStart } from './on-start.ts'
import { serveApiDocs } from './openapi/serve-api-docs.ts'
import { serveOpenapi } from './openapi/serve-openapi.ts'
import { KEY_VARIABLES, resolveServerOptions, type ServerOptions } from './options/options.ts'
import { dialectOf } from './replies/dialect.ts'
import { makeErrorHandler, rawErrorReply } from './replies/error-replies.ts'
import { EventStreams } from './streams/event-streams.ts'
import { Variants } from './variants.ts'

/** A server that is assembled: agents loaded, routes in place, not yet listening. */
export interface AgentServer {
  readonly app: FastifyInstance
  readonly host: AgentHost
  readonly options: ServerOptions
  /** Problems of the agent files in their current state, in the order of their paths. */
  problems(): readonly Problem[]
  /**
   * Starts to listen, and to pick up edits live. When that fails, the server is closed.
   *
   * @returns the address, `http://127.0.0.1:8000`
   * @throws Error with the code `EADDRINUSE` when another has the port
   */
  listen(): Promise<string>
  /** Picks up edits live; {@link AgentServer.listen} does it too. */
  watch(): Promise<void>
  /**
   * Answers a request of another server: `createServer(server.handle)`, `app.use('/agents', server.handle)` in Express. Must come
   * before parsers of bodies.
   */
  handle(request: IncomingMessage, response: ServerResponse): void
  /** Refuses new work, waits for running work (`drainTimeout`), ends every stream with its last frame, and closes. */
  close(): Promise<void>
}

/** A server with the part that `dev` needs beside the public ones. */
export interface BuiltServer extends AgentServer {
  /** The files that the agents come from. */
  readonly agents: AgentFolder
}

const DEBUG_UI = 'UiApiAdapter'
/** Adapter whose routes list and decide what waits. */
const INBOX = 'ResponsesCompatApiAdapter'
/** Time that a request has to arrive. Fastify turns Node's own limits off. */
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/** Interval at which Node looks for connections over a limit; its default of 30 s would make them 30 s longer. */
const CONNECTIONS_CHECK_MS = 1000
/** Time that a client gets to read the answer to a request that could not be read. */
const LINGER_MS = 1000
/** Node's default of 511 resets connections when thousands arrive at once. */
const BACKLOG = 4096
/** Time that streams have to send their last frame after their runs have ended. */
const LAST_FRAME_MS = 1000

/**
 * Assembles a server from options: those that are left out have the defaults of the command line.
 *
 * @throws HostError `OPTION_INVALID`, `ADAPTER_NOT_FOUND`, `PROJECT_INVALID`
 */
export async function buildServer(rawOptions: Partial<ServerOptions>): Promise<BuiltServer> {
  const options = resolveServerOptions(rawOptions)
  // Before anything is opened: a name that is wrong costs nothing.
  const adapters = await loadAdapters(pathsOf(options), options)
  const fileKeys = await readFileKeys(options)
  const secrets = secretsOf(options)
  const redact = makeRedact(secrets)
  const log = await openLog(options, redact)
  const project = await openProject(options, { redact, secrets, log, loadTranslation })
  const describeFailure = makeDescribeFailure(options.debug, redact)
  const app = makeApp(options, log, describeFailure)
  nameRequests(app)
  logRequests(app, log)
  answerUnknownRoutes(app, options)
  try {
    await assemble(app, options, project, { adapters, fileKeys, describeFailure })
    await app.ready()
  } catch (error) {
    // Adapters release their resources.
    await app.close()
    await project.close()
    throw error
  }
  return toServer(app, options, project)
}

/**
 * Adds a project to another app: its routes, with their hooks and the shape of their errors, in a scope of their own.
 *
 * @param app encapsulated by Fastify's `register`
 */
export async function addToApp(app: FastifyInstance, rawOptions: Partial<ServerOptions>): Promise<void> {
  const options = resolveServerOptions(rawOptions)
  const adapters = await loadAdapters(pathsOf(options), options)
  const fileKeys = await readFileKeys(options)
  const secrets = secretsOf(options)
  const redact = makeRedact(secrets)
  const project = await openProject(options, { redact, secrets, log: app.log, loadTranslation })
  const describeFailure = makeDescribeFailure(options.debug, redact)
  try {
    setRules(app, describeFailure, options)
    nameRequests(app)
    // Without a prefix unknown routes are the app's own.
    if (app.prefix !== '') answerUnknownRoutes(app, options)
    await assemble(app, options, project, { adapters, fileKeys, describeFailure })
    onStart(app, 'The watch on the agents', () => project.watch())
  } catch (error) {
    await project.close()
    throw error
  }
}

/** Keys may be given by flag: they are secrets as those of the environment are. */
function secretsOf(options: ServerOptions): Readonly<Record<string, string | undefined>> {
  const { compatApiKey, mcpApiKey, responsesApiKey, uiToken, secretKey, store, queue } = options
  const keys = [compatApiKey, mcpApiKey, responsesApiKey].flatMap((text = '') => readApiKeys(text))
  const secrets = Object.fromEntries(keys.map(({ secret }, index) => [`key_${index}`, secret]))
  return { ...process.env, ...secrets, ui_token: uiToken, secret_key: secretKey, store, queue }
}

async function readFileKeys({ keys, projectDir }: ServerOptions): Promise<readonly Key[] | undefined> {
  return keys === undefined ? undefined : readKeysFile(keys, projectDir)
}

interface ServerParts {
  readonly adapters: readonly LoadedAdapter[]
  readonly fileKeys: readonly Key[] | undefined
  readonly describeFailure: DescribeFailure
}

async function assemble(
  app: FastifyInstance,
  options: ServerOptions,
  project: AssembledProject,
  { adapters: loaded, fileKeys, describeFailure }: ServerParts,
): Promise<void> {
  const { host, agents, traces, redact, durableRuns, openRecords } = project
  const streams = new EventStreams()
  const adapters: NamedAdapter[] = []
  const worker = options.workerOnly ? [openWorker(app, durableRuns)] : []
  app.addHook('onReady', async () => resumeRuns(durableRuns, app.log))
  const parts = () => [...adapters, ...worker]
  let isDraining = false
  app.addHook('preClose', async () => {
    isDraining = true
  })
  answerProbes(app, async () => (isDraining ? 'The server shuts down.' : findUnready(parts())))
  drainOnClose(app, project, streams)
  app.addHook('onRequest', checkHost(servedNames(options)))
  const origins = new Origins(options)
  await addCors(app, options.corsOrigins, origins)
  const onWrongKey = limitWrongKeys(app, options.authRateLimit)
  await serveOpenapi(app)
  if (options.development) serveApiDocs(app)
  const gauges = () => parts().flatMap(({ part }) => part.gauges ?? [])
  if (options.metrics) await serveMetrics(app, options, host, streams, gauges)
  const doors = new Doors(loaded, { fileKeys, origins, onWrongKey })
  const served = loaded.map((adapter) => ({ name: adapter.name, hasKey: doors.isClosed(adapter) }))
  const variants = new Variants(host, options.development || options.allowVariants)
  const shared = {
    host,
    agents,
    traces,
    redact,
    openRecords,
    streams,
    describeFailure,
    onWrongKey,
    durableRuns,
    servesInbox: loaded.some(({ name }) => name === INBOX),
    variants,
    variantOf: variants.of.bind(variants),
    tenantOf: (request: Parameters<typeof principalOf>[0]) => principalOf(request).tenant,
    served,
  }
  adapters.push(...(await addAdapters(app, options, { loaded, doors, shared })))
  if (!options.workerOnly) warnOfOpenAdapters(adapters, options, app.log)
  doors.logSurprises(app.log)
}

/** Goes on with runs that an earlier server has left behind, whichever adapters are served. Nothing waits for it. */
function resumeRuns(runs: RunService, log: FastifyBaseLogger): void {
  runs.resume().catch((error) => {
    log.error(`Stored runs do not go on until the store is used again: ${messageOf(error)}`)
  })
}

/** Carries out the runs of other servers from the start on. */
function openWorker(app: FastifyInstance, runs: RunService): ServedPart {
  const opening = runs.open()
  opening.catch(() => {})
  onStart(app, 'The store', () => opening)
  return { name: 'worker', part: { gauges: queueGauges(runs), checkReady: () => runs.checkReady() } }
}

async function serveMetrics(
  app: FastifyInstance,
  options: ServerOptions,
  host: AgentHost,
  streams: EventStreams,
  gaugesOfAdapters: () => readonly GaugeSpec[],
): Promise<void> {
  const stop = await addMetrics(app, host, streams, { server: options.serverName, gaugesOfAdapters })
  app.addHook('onClose', async () => stop())
  if (isLoopback(options.host)) return
  app.log.warn(`/metrics requires no key: everyone who reaches ${options.host} can read it.`)
}

/** New requests are refused, running work ends or is aborted, and every stream gets its last frame before it is cut. */
function drainOnClose(app: FastifyInstance, project: AssembledProject, streams: EventStreams): void {
  let isDraining = false
  app.addHook('onRequest', (_request, _reply, done) => {
    done(isDraining ? new HostError('SHUTTING_DOWN', 'The server shuts down.') : undefined)
  })
  app.addHook('preClose', async () => {
    isDraining = true
    await project.drain()
    await streams.drain(LAST_FRAME_MS)
    await project.close()
  })
}

function toServer(app: FastifyInstance, options: ServerOptions, project: AssembledProject): BuiltServer {
  return {
    app,
    host: project.host,
    problems: () => project.problems(),
    agents: project.agents,
    options,
    watch: () => project.watch(),
    handle(request, response) {
      if (hasReadBody(request)) answerReadBody(response)
      else app.routing(request, response)
    },
    async listen() {
      try {
        await project.watch()
        const { host, port, development } = options
        // `dev` has a banner.
        const announcement = development ? { listenTextResolver: () => NO_LINE } : {}
        return await app.listen({ host, port, backlog: BACKLOG, ...announcement })
      } catch (error) {
        await app.close()
        throw error
      }
    },
    close: () => app.close(),
  }
}

/** Error of a body that another framework's parser has already read. */
function hasReadBody(request: IncomingMessage): boolean {
  return request.readableDidRead && (request.headers['content-length'] ?? '0') !== '0'
}

function answerReadBody(response: ServerResponse): void {
  const detail = 'The body was read by another parser: put agent-host before it'
  response.writeHead(500, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify({ detail }))
}

function makeApp(options: ServerOptions, log: ServerLog, describeFailure: DescribeFailure): FastifyInstance {
  const { bodyLimit, ...limits } = options
  const process = randomUUID().slice(0, 8)
  let requests = 0
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // A child logger for each request would cost more than the whole agent; the lines that are written name the request.
    childLoggerFactory: (logger) => logger,
    logController: new fastify.LogController({ disableRequestLogging: true }),
    genReqId: () => `${process}-${(++requests).toString(36)}`,
    bodyLimit,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CONNECTIONS_CHECK_MS },
    // A slow disk is waited for (`onStart`), and so is work that drains: that has a limit of its own.
    pluginTimeout: 0,
    // The own hook answers with a body of the right shape.
    return503OnClosing: false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: true },
    frameworkErrors: makeErrorHandler(describeFailure),
    clientErrorHandler: answerAndClose,
  })
  setRules(app, describeFailure, options)
  limitSockets(app.server, {
    maxConnections: limits.maxConnections,
    maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
    writeTimeoutMs: limits.writeTimeout * 1000,
    maxUnsentBytes: limits.maxUnsentMb * 1024 * 1024,
  })
  return app
}

/** Sets the parsing and validation of bodies, and the replies to errors. */
function setRules(app: FastifyInstance, describeFailure: DescribeFailure, options: ServerOptions): void {
  app.setValidatorCompiler<TSchema>(({ schema, httpPart }) =>
    httpPart === 'querystring' ? makeQueryValidator(schema) : makeValidator(schema),
  )
  // Errors before routing, such as a wrong content type, also use the dialect of their path.
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const [path = ''] = request.url.split('?', 1)
    makeErrorHandler(describeFailure, dialectOf(path, options))(error, request, reply)
  })
  acceptJsonOnly(app)
  limitParsedBytes(app)
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

function nameRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    for (const [name, value] of GUARDS) reply.header(name, value)
    done()
  })
}

function answerUnknownRoutes(app: FastifyInstance, options: ServerOptions): void {
  const methodsOf = trackMethods(app)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const methods = methodsOf(path)
    if (methods.length > 0) reply.header('allow', methods.join(', '))
    const [statusCode, detail] = methods.length === 0 ? [404, 'Not Found'] : [405, 'Method Not Allowed']
    return reply.code(statusCode).send(dialectOf(path, options).toErrorReply({ statusCode, detail }).body)
  })
}

/** Part of the server that has metrics, and may not be ready. */
interface ServedPart {
  readonly name: string
  readonly part: Pick<Adapter, 'gauges' | 'checkReady'>
}

interface NamedAdapter extends ServedPart {
  readonly isOpen: boolean
}

interface AdapterParts {
  readonly loaded: readonly LoadedAdapter[]
  readonly doors: Doors
  readonly shared: Omit<DebugAdapterOptions, 'options' | 'log' | 'requiresKey' | 'config' | 'runs' | 'http'>
}

async function addAdapters(
  app: FastifyInstance,
  options: ServerOptions,
  { loaded, doors, shared }: AdapterParts,
): Promise<NamedAdapter[]> {
  const adapters: NamedAdapter[] = []
  for (const found of loaded) {
    const { name, Adapter, config } = found
    const requiresKey = doors.isClosed(found)
    const runs = makeAdapterRuns(shared.durableRuns, shared.host, name)
    const http = makeAdapterHttp({ ...shared, requiresKey })
    const adapter = new Adapter({ ...shared, runs, http, options, log: app.log, requiresKey, config })
    const checksItself = adapter.isOpen === false
    // Its page sends several requests a second, which would bury the work of agents.
    const logLevel = name === DEBUG_UI ? 'warn' : undefined
    const add = async (scope: FastifyInstance) => {
      if (!checksItself) scope.addHook('onRequest', doors.doorOf(found))
      await nameSlow(app.log, `The adapter '${name}'`, Promise.resolve(adapter.adapt(scope)))
    }
    await app.register(add, logLevel ? { logLevel } : {})
    adapters.push({ name, part: adapter, isOpen: !checksItself && !requiresKey })
  }
  return adapters
}

/** Returns why a part cannot serve at this moment; undefined when all can. */
async function findUnready(parts: readonly ServedPart[]): Promise<string | undefined> {
  for (const { name, part } of parts) {
    try {
      await part.checkReady?.()
    } catch (error) {
      return `${name}: ${error instanceof HostError ? error.code : messageOf(error)}`
    }
  }
  return undefined
}

/** Debug mode brings the debug UI along, unless it is named anyway. */
function pathsOf({ adapters, debug }: ServerOptions): Set<string> {
  const isNamed = adapters.some((path) => adapterName(path) === DEBUG_UI)
  return new Set(debug && !isNamed ? [...adapters, DEBUG_UI] : adapters)
}

function warnOfOpenAdapters(adapters: readonly NamedAdapter[], options: ServerOptions, log: FastifyBaseLogger): void {
  if (adapters.length === 0) {
    const command = `agent-host serve ${BUILT_IN_ADAPTERS.map((name) => `--adapter ${name}`).join(' ')}`
    log.warn(`No adapter is selected, so no API is served. Choose from: ${command}`)
  }
  const open = adapters.filter(({ isOpen }) => isOpen).map(({ name }) => name)
  if (open.length > 0 && !options.development) log.info(`Requests are accepted without a key: ${open.join(', ')}.`)
  if (open.length === 0 || isLoopback(options.host)) return
  const verb = open.length === 1 ? 'requires' : 'require'
  const message = `${options.host} can be reached from other machines, and ${open.join(', ')} ${verb} no key`
  if (options.requireAuth) {
    const suggestions = [howToClose(open)]
    throw new HostError('OPTION_INVALID', `${message}; --require-auth does not allow that.`, { suggestions })
  }
  log.warn(`${message}. ${howToClose(open)}`)
}

/** Command to type. */
function howToClose(open: readonly string[]): string {
  const variables = open.flatMap((name) => KEY_VARIABLES[name]?.slice(0, 1) ?? [])
  const keys = variables.map((name) => `${name}=$(openssl rand -hex 32)`).join(' ')
  return `Close it with ${keys === '' ? '' : `${keys} agent-host serve ..., or with `}agent-host serve --host 127.0.0.1 ...`
}
