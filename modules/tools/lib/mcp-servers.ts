import type { ModuleContext, Run, ToolDefinition, ToolResult } from 'agent-host'
import { McpConnection, type McpServerConfig } from './mcp-connection.ts'

/** A tool under the name that it has here. */
interface NamedTool {
  readonly definition: ToolDefinition
  readonly connection: McpConnection
  /** The name that its server knows. */
  readonly remoteName: string
}

/** Maximum length of a tool name in the common model APIs. */
const MAX_NAME_LENGTH = 64

/** The tools of several servers. Each server lives and dies by itself. */
export class McpServers {
  readonly #connections: readonly McpConnection[]
  readonly #log: ModuleContext['log']
  #tools: ReadonlyMap<string, NamedTool> | undefined

  /** @throws Error naming a server whose name is taken, or whose config fits neither kind */
  constructor(servers: readonly McpServerConfig[], context: ModuleContext) {
    this.#log = context.log
    const names = servers.map(({ name }) => name)
    this.#connections = servers.map((config, index) => {
      const { name } = config
      if (names.indexOf(name) !== index) throw new Error(`Two servers have the name '${name}'.`)
      if ((config.command === undefined) === (config.url === undefined)) {
        throw new Error(`The server '${name}' needs either a command or a url.`)
      }
      return new McpConnection(config, context, () => {
        this.#tools = undefined
      })
    })
  }

  /** Waits until each server has answered, or for this many seconds. */
  async connect(seconds: number): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.connectWithin(seconds)))
  }

  listTools(): ToolDefinition[] {
    return [...this.#byName().values()].map(({ definition }) => definition)
  }

  /** Returns the server's hint for a tool; without a hint it is destructive by the protocol, unless it only reads. */
  isDestructive(name: string): boolean {
    const tool = this.#byName().get(name)
    return tool?.connection.isDestructive(tool.remoteName) ?? false
  }

  async executeTool(name: string, args: Readonly<Record<string, unknown>>, run: Run): Promise<ToolResult> {
    run.signal.throwIfAborted()
    const tool = this.#byName().get(name)
    if (!tool) throw new Error(`There is no tool '${name}'. Tools: ${[...this.#byName().keys()].join(', ')}.`)
    return tool.connection.call(tool.remoteName, name, args, run)
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }

  #byName(): ReadonlyMap<string, NamedTool> {
    this.#tools ??= this.#nameTools()
    return this.#tools
  }

  #nameTools(): ReadonlyMap<string, NamedTool> {
    const named = new Map<string, NamedTool>()
    for (const connection of this.#connections) {
      for (const { name: remoteName, ...definition } of connection.tools) {
        const name = toName(connection.prefix + remoteName)
        const other = named.get(name)
        if (!other) named.set(name, { definition: { name, ...definition }, connection, remoteName })
        else {
          const owners = `'${other.connection.name}' and '${connection.name}'`
          this.#log.warn(`${owners} both have a tool '${name}'; the first one is used. Give one of them a prefix.`)
        }
      }
    }
    return named
  }
}

function toName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME_LENGTH)
}
