import {
  checkHeaders,
  type ModuleContext,
  type Run,
  type Storage,
  type ToolDefinition,
  type ToolResult,
} from 'agent-host'
import { checkHeaderValues } from '../check-header-values.ts'
import { findTool } from '../find-tool.ts'
import { McpConnection, type McpServerConfig } from './connection.ts'
import { type GivenName, namesFor } from './names.ts'
import { type OAuthServerConfig, type SignedInServer, SignedInServers } from './signed-in.ts'
import { makeWarnOnce } from './warn-once.ts'

type Server = McpConnection | SignedInServer

/** A tool under the name that it has here. */
interface NamedTool {
  readonly definition: ToolDefinition
  readonly server: Server
  /** The name that its server knows. */
  readonly remoteName: string
  /** By the hints of its server; without any it is by the protocol. */
  readonly isDestructive: boolean
}

type NamedTools = ReadonlyMap<string, NamedTool>

/** The tools of several servers. Each server lives and dies by itself. */
export class McpServers {
  readonly #connections: readonly McpConnection[]
  readonly #signedIn: SignedInServers | undefined
  readonly #context: ModuleContext
  readonly #warnOnce: (warning: string) => void
  #tools: NamedTools | undefined

  /** @throws Error naming a server whose name is taken, or whose config fits no kind of server */
  constructor(servers: readonly McpServerConfig[], context: ModuleContext, storage: Storage) {
    this.#context = context
    this.#warnOnce = makeWarnOnce(context.log)
    const names = servers.map(({ name }) => name)
    for (const [index, config] of servers.entries()) {
      if (names.indexOf(config.name) !== index) throw new Error(`Two servers have the name '${config.name}'.`)
      checkKind(config)
    }
    const onChange = () => {
      this.#tools = undefined
      this.#reportMissing()
    }
    const withOAuth = servers.filter(isOAuth)
    this.#connections = servers
      .filter((config) => !isOAuth(config))
      .map((config) => new McpConnection(config, context, onChange))
    this.#signedIn =
      withOAuth.length === 0 ? undefined : new SignedInServers({ servers: withOAuth, context, storage, onChange })
  }

  /** Waits until each server has answered, or for this many seconds. Those that want a sign-in are connected by the runs that use them. */
  async connect(seconds: number): Promise<void> {
    this.#signedIn?.connect(seconds)
    await Promise.all(this.#connections.map((connection) => connection.connectWithin(seconds)))
  }

  async listTools(run: Run): Promise<NamedTool[]> {
    return [...(await this.#byName(run)).values()]
  }

  /** @throws Error for a tool that is not there: its server may be back, with the tool, when the call is executed */
  async isDestructive(name: string, run: Run): Promise<boolean> {
    return findTool(await this.#byName(run), name).isDestructive
  }

  /** Arguments that a call sends to its server. @throws Error if there is no such tool */
  async argumentsToSend(
    name: string,
    args: Readonly<Record<string, unknown>>,
    run: Run,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { server, remoteName } = findTool(await this.#byName(run), name)
    return server.argumentsToSend(remoteName, name, args)
  }

  async executeTool(name: string, args: Readonly<Record<string, unknown>>, run: Run): Promise<ToolResult> {
    run.signal.throwIfAborted()
    const tools = await this.#byName(run)
    const tool = findTool(tools, name)
    return tool.server.call(tool.remoteName, name, args, run)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.map((connection) => connection.close()), this.#signedIn?.close()])
    this.#context.reportMissing(undefined)
  }

  #reportMissing(): void {
    const names = this.#connections.filter(({ isAway }) => isAway).map(({ name }) => `'${name}'`)
    this.#context.reportMissing(names.length > 0 ? `MCP ${names.join(', ')}` : undefined)
  }

  #byName(run: Run): NamedTools | Promise<NamedTools> {
    if (this.#signedIn)
      return this.#signedIn.of(run).then((servers) => this.#nameTools([...this.#connections, ...servers], run))
    this.#tools ??= this.#nameTools(this.#connections, run)
    return this.#tools
  }

  #nameTools(servers: readonly Server[], run: Run): NamedTools {
    const listed = servers.flatMap((server) =>
      (server instanceof McpConnection ? server.tools : server.toolsFor(run)).map((tool) => ({ server, tool })),
    )
    const names = namesFor(listed.map(({ server, tool }) => ({ server: server.name, name: server.prefix + tool.name })))
    const named = new Map<string, NamedTool>()
    for (const [index, { server, tool }] of listed.entries()) {
      const { name: remoteName, ...definition } = tool
      const { name, isOwn } = names[index] as GivenName
      const other = named.get(name)
      if (!other) {
        const isDestructive = server.isDestructive(remoteName)
        named.set(name, { definition: { name, ...definition }, server, remoteName, isDestructive })
      }
      if (other) this.#warnOnce(describeDouble(name, other.server.name, server.name))
      else if (!isOwn) this.#warnOnce(`The tool '${remoteName}' of '${server.name}' is offered as '${name}'.`)
    }
    return named
  }
}

function isOAuth(config: McpServerConfig): config is OAuthServerConfig {
  return config.oauth !== undefined && config.url !== undefined
}

/** @throws Error that names the server and the options that do not go together */
function checkKind({ name, command, url, bearer, headers, oauth }: McpServerConfig): void {
  if ((command === undefined) === (url === undefined)) {
    throw new Error(`The server '${name}' needs either a command or a url.`)
  }
  // Requests refuse such an address, with a message that shows it.
  const { username = '', password = '' } = URL.parse(url ?? '') ?? {}
  if (username + password !== '') {
    throw new Error(`The url of the server '${name}' has a user name or a password: give them as headers or bearer.`)
  }
  checkHeaders(Object.keys(headers), `The server '${name}'`)
  checkHeaderValues({ ...headers, authorization: bearer ?? '' }, `The server '${name}'`)
  if (oauth === undefined) return
  if (url === undefined) throw new Error(`The server '${name}' is a program: only a url can want a sign-in (oauth).`)
  if (bearer !== undefined) throw new Error(`The server '${name}' has a bearer token and oauth: it needs one of them.`)
  if (oauth.per !== 'tenant') {
    throw new Error(
      `The server '${name}' keeps tokens per '${oauth.per}', which is refused: they are kept per tenant. The user of a run is only what a client says, and another client can say the same.`,
    )
  }
}

function describeDouble(name: string, one: string, other: string): string {
  if (one === other) return `'${one}' lists the tool '${name}' twice; the first one is used.`
  return `'${one}' and '${other}' both have a tool '${name}'; the first one is used. Give one of them a prefix.`
}
