import {
  type GuardedFetch,
  hostOf,
  type ModuleContext,
  makeGuardedFetch,
  type Run,
  type Storage,
  type ToolDefinition,
  type ToolResult,
} from 'agent-host'
import { PRIVATE_HOSTS } from '../private-hosts.ts'
import { McpConnection, type McpServerConfig } from './connection.ts'
import { McpSignIn, needsSignIn } from './sign-in.ts'
import type { OAuthConfig } from './sign-in-provider.ts'

/** A server that wants a sign-in, in the config. */
export interface OAuthServerConfig extends McpServerConfig {
  readonly url: string
  readonly oauth: OAuthConfig
}

/** Tenants whose connections are kept; beyond it those that were used least recently are closed, unless they are in a call. */
const MAX_TENANTS = 100
/** Bytes of an answer of an authorization server. */
const MAX_AUTH_BYTES = 1024 * 1024
/** Maximum seconds that it has to answer. */
const MAX_AUTH_SECONDS = 10

export interface SignedInServersOptions {
  readonly servers: readonly OAuthServerConfig[]
  readonly context: ModuleContext
  readonly storage: Storage
  /** Called when tools of a tenant are others than before. */
  readonly onChange: () => void
}

/** The servers that want a sign-in, for each tenant by itself: none ever has the token of another. */
export class SignedInServers {
  readonly #options: SignedInServersOptions
  readonly #fetches: ReadonlyMap<string, GuardedFetch & AsyncDisposable>
  readonly #tenants = new Map<string, readonly SignedInServer[]>()
  #connectSeconds = 0

  constructor(options: SignedInServersOptions) {
    this.#options = options
    this.#fetches = new Map(options.servers.map((server) => [server.name, fetchFor(server)]))
  }

  /** Sets how long a run waits for a server when its tools are listed. */
  connect(seconds: number): void {
    this.#connectSeconds = seconds
  }

  /** Returns the servers of the tenant of a run, connected where it has signed in. */
  async of(run: Run): Promise<readonly SignedInServer[]> {
    const servers = this.#tenants.get(run.tenant) ?? this.#makeFor(run)
    this.#tenants.delete(run.tenant)
    this.#tenants.set(run.tenant, servers)
    await Promise.all(servers.map((server) => server.open(run, this.#connectSeconds)))
    return servers
  }

  async close(): Promise<void> {
    const servers = [...this.#tenants.values()].flat()
    await Promise.all(servers.map((server) => server.close()))
    await Promise.all([...this.#fetches.values()].map((fetch) => fetch[Symbol.asyncDispose]()))
  }

  #makeFor(run: Run): readonly SignedInServer[] {
    for (const [tenant, kept] of this.#tenants) {
      if (this.#tenants.size < MAX_TENANTS) break
      if (kept.some(({ isCalled }) => isCalled)) continue
      this.#tenants.delete(tenant)
      for (const server of kept) void server.close()
    }
    const { servers, context, storage, onChange } = this.#options
    return servers.map((config) => {
      const { name: server, url, oauth } = config
      const fetch = this.#fetches.get(server) as GuardedFetch
      const signIn = new McpSignIn({ server, url, oauth, context, storage, fetch, timeoutMs: timeoutOf(config) }, run)
      return new SignedInServer(new McpConnection(config, context, onChange, signIn), signIn)
    })
  }
}

/** One server for one tenant. Without a token a call waits for the sign-in, and so does a tool that does nothing else. */
export class SignedInServer {
  readonly #connection: McpConnection
  readonly #signIn: McpSignIn
  readonly #signInTool: ToolDefinition
  /** Calls under way. */
  #calls = 0

  constructor(connection: McpConnection, signIn: McpSignIn) {
    this.#connection = connection
    this.#signIn = signIn
    const { name } = connection
    this.#signInTool = {
      name: `sign_in_${name}`,
      description: `Asks the user to sign in to '${name}', whose tools can be used afterwards. Call it when the task needs them.`,
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    }
  }

  get name(): string {
    return this.#connection.name
  }

  get prefix(): string {
    return this.#connection.prefix
  }

  get isCalled(): boolean {
    return this.#calls > 0
  }

  /**
   * By the names that the server knows: those of the latest listing, or the one that signs in. A call finds both: one that waits in the latter
   * goes on, whoever has signed in meanwhile.
   */
  toolsFor({ toolCallId }: Run): readonly ToolDefinition[] {
    const { tools } = this.#connection
    return tools.length > 0 && toolCallId === undefined ? tools : [...tools, this.#signInTool]
  }

  isDestructive(tool: string): boolean {
    return tool !== this.#signInTool.name && this.#connection.isDestructive(tool)
  }

  /** As {@link McpConnection.argumentsToSend}. */
  argumentsToSend(
    name: string,
    localName: string,
    args: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> {
    return name === this.#signInTool.name ? args : this.#connection.argumentsToSend(name, localName, args)
  }

  /** Connects for a run, where its tenant has signed in, for this many seconds at most. */
  async open(run: Run, seconds: number): Promise<void> {
    this.#signIn.use(run)
    if (this.#connection.isConnected) return
    if (this.#connection.tools.length === 0) this.#connection.offer((await this.#signIn.knownTools()) ?? [])
    if ((await this.#signIn.token()) !== undefined) await this.#connection.connectWithin(seconds)
  }

  /** @throws as {@link McpConnection.call}, and when the sign-in fails */
  async call(name: string, localName: string, args: Readonly<Record<string, unknown>>, run: Run): Promise<ToolResult> {
    this.#calls++
    try {
      if (name === this.#signInTool.name) return await this.#signInFor(run)
      return await this.#afterSignIn(() => this.#connection.call(name, localName, args, run), run)
    } finally {
      this.#calls--
    }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  async #signInFor(run: Run): Promise<ToolResult> {
    await this.#afterSignIn(() => this.#connection.connect(), run)
    const names = this.#connection.tools.map(({ name }) => name)
    return { text: `Signed in to '${this.name}'. Its tools: ${names.join(', ') || 'none'}.` }
  }

  /** Does work once more if a person has to sign in for it. */
  async #afterSignIn<T>(work: () => Promise<T>, run: Run): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!needsSignIn(error)) throw error
      await this.#signIn.ask(run)
      return work()
    }
  }
}

/** Hosts that a server names have to be public, unless the agent file names them. */
function fetchFor(config: OAuthServerConfig): GuardedFetch & AsyncDisposable {
  const {
    url,
    oauth: { hosts },
  } = config
  const fetch = makeGuardedFetch({
    namedHosts: new Set([hostOf(new URL(url)), ...hosts]),
    advice: PRIVATE_HOSTS,
    maxBytes: MAX_AUTH_BYTES,
  })
  const limited: GuardedFetch = (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.timeout(timeoutOf(config)) })
  return Object.assign(limited, { [Symbol.asyncDispose]: fetch[Symbol.asyncDispose] })
}

/** Whole milliseconds that an authorization server has to answer. */
function timeoutOf({ timeout }: OAuthServerConfig): number {
  return Math.ceil(Math.min(timeout, MAX_AUTH_SECONDS) * 1000)
}
