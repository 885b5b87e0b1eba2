import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { makeDescribeFailure } from '../assembly/failures.ts'
import { openProject } from '../assembly/open-project.ts'
import type { AssembledProject } from '../assembly/opened-project.ts'
import { NO_LINE, openLog } from '../assembly/project-log.ts'
import type { Problem } from '../definition/problem.ts'
import { badOption } from '../errors.ts'
import type { AgentFolder } from '../host/agent-folder/agent-folder.ts'
import type { AgentHost } from '../host/host.ts'
import { fieldsOf } from '../json.ts'
import { makeRedact } from '../redaction/redact.ts'
import { adapterName } from './adapters/adapter-name.ts'
import { DEBUG_UI, type LoadedAdapter, loadAdapters } from './adapters/load-adapter.ts'
import type { Questions } from './adapters/ui/questions/questions.ts'
import { assemble } from './assemble.ts'
import { readApiKeys } from './guards/api-keys.ts'
import type { FollowedKeys } from './guards/followed-keys.ts'
import type { Tokens } from './guards/tokens.ts'
import { answerUnknownRoutes, makeApp, nameRequests, setRules } from './make-app.ts'
import { logRequests } from './monitoring/request-log.ts'
import { onStart } from './on-start.ts'
import { resolveServerOptions, type ServerOptions } from './options/options.ts'

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
   * @throws Error with the code `EADDRINUSE` when another has the port; HostError `OPTION_INVALID` for a host that is no address of
   *   this machine
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
  /** Reads agent files and project code again; with `noWatch` nothing else does. */
  reload(): Promise<void>
}

/** Node's default of 511 resets connections when thousands arrive at once. */
const BACKLOG = 4096

/**
 * Assembles a server from options: those that are left out have the defaults of the command line.
 *
 * @param questions asked at the terminal of `agent-host dev`
 * @throws HostError `OPTION_INVALID`, `ADAPTER_NOT_FOUND`, `PROJECT_INVALID`
 */
export async function buildServer(rawOptions: Partial<ServerOptions>, questions?: Questions): Promise<BuiltServer> {
  const options = resolveServerOptions(rawOptions)
  // Before anything is opened: a name that is wrong costs nothing.
  const adapters = await loadAdapters(pathsOf(options), options)
  const fileKeys = await readFileKeys(options)
  const secrets = secretsOf(options, adapters)
  const redact = makeRedact(secrets)
  const log = await openLog(options, redact)
  const tokens = await openTokens(options, log)
  const project = await openProject(options, { redact, secrets, log })
  const describeFailure = makeDescribeFailure(options.debug, redact)
  const app = makeApp(options, log, describeFailure)
  nameRequests(app)
  logRequests(app, log)
  answerUnknownRoutes(app, options)
  try {
    await assemble(app, options, project, { adapters, fileKeys, tokens, describeFailure, questions })
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
  const [fileKeys, tokens] = [await readFileKeys(options), await openTokens(options, app.log)]
  const secrets = secretsOf(options, adapters)
  const redact = makeRedact(secrets)
  const project = await openProject(options, { redact, secrets, log: app.log })
  const describeFailure = makeDescribeFailure(options.debug, redact)
  try {
    setRules(app, describeFailure, options)
    nameRequests(app)
    // Without a prefix unknown routes are the app's own.
    if (app.prefix !== '') answerUnknownRoutes(app, options)
    await assemble(app, options, project, { adapters, fileKeys, tokens, describeFailure })
    onStart(app, 'The watch on the agents', () => project.watch(options.noWatch))
  } catch (error) {
    await project.close()
    throw error
  }
}

/** Keys may be given by flag: they are secrets as those of the environment are. */
function secretsOf(
  options: ServerOptions,
  adapters: readonly LoadedAdapter[],
): Readonly<Record<string, string | undefined>> {
  const { compatApiKey, mcpApiKey, responsesApiKey, uiToken, secretKey, store, queue } = options
  const own = adapters.map(({ ownKey }) => ownKey)
  const keys = [compatApiKey, mcpApiKey, responsesApiKey, ...own].flatMap((text = '') => readApiKeys(text))
  const secrets = Object.fromEntries(keys.map(({ secret }, index) => [`key_${index}`, secret]))
  return { ...process.env, ...secrets, ui_token: uiToken, secret_key: secretKey, store, queue }
}

async function readFileKeys({ keys, projectDir }: ServerOptions): Promise<FollowedKeys | undefined> {
  if (keys === undefined) return undefined
  const { FollowedKeys } = await import('./guards/followed-keys.ts')
  return FollowedKeys.read(keys, projectDir)
}

async function openTokens(options: ServerOptions, log: FastifyInstance['log']): Promise<Tokens | undefined> {
  if (options.jwtIssuer === undefined) return undefined
  const { Tokens } = await import('./guards/tokens.ts')
  return new Tokens(options, log)
}

function toServer(app: FastifyInstance, options: ServerOptions, project: AssembledProject): BuiltServer {
  return {
    app,
    host: project.host,
    problems: () => project.problems(),
    agents: project.agents,
    options,
    watch: () => project.watch(options.noWatch),
    reload: () => project.reload(),
    handle(request, response) {
      if (hasReadBody(request)) answerReadBody(response)
      else app.routing(request, response)
    },
    async listen() {
      try {
        await project.watch(options.noWatch)
        const { host, port, development } = options
        // `dev` has a banner.
        const announcement = development ? { listenTextResolver: () => NO_LINE } : {}
        return await app.listen({ host, port, backlog: BACKLOG, ...announcement })
      } catch (error) {
        await app.close()
        throw explainListen(error, options.host)
      }
    },
    close: () => app.close(),
  }
}

const NO_ADDRESS: ReadonlySet<unknown> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'])

function explainListen(error: unknown, host: string): unknown {
  const { code, address, hostname } = fieldsOf(error)
  const isOfHost = address === host || hostname === host
  if (!isOfHost || !NO_ADDRESS.has(code)) return error
  const suggestions = ['Bind one that it has: --host 127.0.0.1, or --host 0.0.0.0 for all of them.']
  return badOption(`This machine has no address '${host}'.`, { suggestions, cause: error })
}

/** Error of a body that another framework's parser has already read. */
function hasReadBody(request: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  return request.readableDidRead && (length !== '0' || coding !== undefined)
}

function answerReadBody(response: ServerResponse): void {
  const detail = 'The body was read by another parser: put agent-host before it'
  response.writeHead(500, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify({ detail }))
}

/** Debug mode brings the debug UI along, unless it is named anyway. */
function pathsOf({ adapters, debug }: ServerOptions): Set<string> {
  const isNamed = adapters.some((path) => adapterName(path) === DEBUG_UI)
  return new Set(debug && !isNamed ? [...adapters, DEBUG_UI] : adapters)
}
