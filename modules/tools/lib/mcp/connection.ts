import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type CallToolResult,
  Client,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client'
import {
  type CompiledSchema,
  checkArguments,
  compileSchema,
  isTimeLimit,
  limitBody,
  type ModuleContext,
  messageOf,
  type Run,
  runLimited,
  type ToolDefinition,
  type ToolResult,
  VERSION,
} from 'agent-host'
import { Backoff } from '../backoff.ts'
import { pickEnvironment } from '../child-environment.ts'
import { LONGEST_TIMER } from '../settings.ts'
import { withinTimeout } from '../tool-result.ts'
import { toToolResult } from './content.ts'
import { MAX_KNOWN_TOOLS, mendMessages } from './mend.ts'
import { isUnreachable, reasonOf, saysUnknownTool } from './reason.ts'
import { type McpSignIn, needsSignIn, SignInNeeded } from './sign-in.ts'
import type { OAuthConfig } from './sign-in-provider.ts'
import { MAX_MESSAGE_BYTES, StdioTransport } from './stdio-transport.ts'
import { makeWarnOnce } from './warn-once.ts'

export interface McpServerConfig {
  readonly name: string
  readonly command?: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly url?: string
  readonly transport: 'http' | 'sse'
  readonly headers: Readonly<Record<string, string>>
  readonly bearer?: string
  readonly prefix: string
  readonly include?: readonly string[]
  readonly exclude: readonly string[]
  /** Seconds. */
  readonly timeout: number
  /** Seconds. */
  readonly total_timeout: number
  readonly pin: boolean
  readonly oauth?: OAuthConfig
}

type Arguments = Readonly<Record<string, unknown>>

/** Time that a server has to report its protocol version. One that stays silent is old. */
const PROBE_TIMEOUT_MS = 3000
const CONNECT_TIMEOUT_MS = 15_000
/** Shortest pause before a stream is opened again: the server names the pause (`retry`), and may name none. */
const REOPEN_MS = 500
/** A server is not trusted: its schemas may take for ever. */
const CHECK_MS = 200

/** One server: connected while it can be, and again when it comes back. */
export class McpConnection {
  readonly name: string
  readonly #config: McpServerConfig
  readonly #context: ModuleContext
  readonly #onChange: () => void
  readonly #signIn: McpSignIn | undefined
  #client: Client | undefined
  #connecting: Promise<Client> | undefined
  #listing: Promise<void> | undefined
  #tools: readonly ToolDefinition[] = []
  readonly #compiled = new Map<string, CompiledSchema>()
  /** Names in `include` that the server did not know at its latest listing. */
  #missing = ''
  #destructive: ReadonlySet<string> = new Set()
  /** Tools whose schemas take too long to check; the server checks for itself. */
  readonly #unchecked = new Set<string>()
  /** Digest of the description of each tool at the first listing. */
  readonly #described = new Map<string, string>()
  readonly #changed = new Set<string>()
  readonly #warnOnce: (warning: string) => void
  /** Why it cannot be reached, as it was logged: attempts that fail alike are not. */
  #reported = ''
  readonly #closing = new AbortController()
  readonly #backoff = new Backoff(this.#closing.signal)

  /**
   * @param onChange called when its tools are others than before
   * @param signIn of the tenant that the connection is for; undefined for a server that wants none
   */
  constructor(config: McpServerConfig, context: ModuleContext, onChange: () => void, signIn?: McpSignIn) {
    this.name = config.name
    this.#config = config
    this.#context = context
    this.#warnOnce = makeWarnOnce(context.log)
    this.#onChange = onChange
    this.#signIn = signIn
  }

  get prefix(): string {
    return this.#config.prefix
  }

  /** By the names that the server knows. None while it cannot be reached. */
  get tools(): readonly ToolDefinition[] {
    return this.#tools
  }

  get isConnected(): boolean {
    return this.#client !== undefined
  }

  /** True once an attempt to connect has failed, until one succeeds. */
  get isAway(): boolean {
    return !this.isConnected && this.#backoff.hasFailed
  }

  /** Offers the tools of an earlier listing until the server is connected. */
  offer(tools: readonly Tool[]): void {
    this.#take(tools)
  }

  /**
   * Connects, unless it is connected.
   *
   * @throws Error that says why the server cannot be reached
   */
  async connect(): Promise<void> {
    if (!this.#client) await this.#connect()
  }

  /** Waits until it is connected, or has failed, or for this many seconds. It keeps trying. */
  async connectWithin(seconds: number): Promise<void> {
    const late = new AbortController()
    const timer = wait(seconds * 1000, undefined, { signal: late.signal }).then(
      () => this.#warn(`has not answered for ${seconds} s; it may still.`),
      () => {},
    )
    await Promise.race([this.#connect().catch(() => {}), timer])
    late.abort()
  }

  /**
   * Calls a tool.
   *
   * @param name of the tool, as the server knows it
   * @param localName as it is called here
   * @throws Error when the arguments do not fit, the server cannot be reached, or does not answer in time
   */
  async call(name: string, localName: string, args: Arguments, run: Run): Promise<ToolResult> {
    const { checked, misfit } = this.#check(name, localName, args)
    for (let attempt = 0; ; attempt++) {
      const connected = this.#client ?? this.#connect()
      const client = await withinTimeout(localName, Promise.resolve(connected), this.#config.timeout, run.signal)
      try {
        const result = toToolResult(await this.#request(client, name, checked, run))
        if (result.isError && misfit) throw misfit
        if (result.isError && saysUnknownTool(result.text)) await this.#listAgain(client)
        return result
      } catch (error) {
        run.signal.throwIfAborted()
        if (saysUnknownTool(messageOf(error))) await this.#listAgain(client)
        if (isUnreachable(error)) this.#drop(client, reasonOf(error))
        if (!isSessionLost(error) || attempt > 0) throw this.#toError(error, localName)
        // It has not begun with this, since it does not know who asks.
        this.#drop(client, 'it has forgotten the session')
      }
    }
  }

  /** Arguments that a call sends: converted, and with the schema's defaults, if they fit the schema. */
  argumentsToSend(name: string, localName: string, args: Arguments): Arguments {
    return this.#check(name, localName, args).checked
  }

  isDestructive(tool: string): boolean {
    return this.#destructive.has(tool)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const client = this.#client
    this.#client = undefined
    await client?.close().catch(() => {})
    await this.#connecting?.catch(() => {})
  }

  #request(client: Client, name: string, args: Arguments, run: Run): Promise<CallToolResult> {
    const timeout = this.#config.timeout * 1000
    return client.callTool(
      { name, arguments: args },
      {
        signal: run.signal,
        timeout,
        resetTimeoutOnProgress: true,
        maxTotalTimeout: this.#config.total_timeout * 1000,
        onprogress: ({ progress, total, message }) =>
          run.reportProgress(message ?? (total === undefined ? String(progress) : `${progress} of ${total}`)),
      },
    )
  }

  /** The arguments to send, and what does not fit: the server decides, since it may take more than its schema says. */
  #check(name: string, localName: string, args: Arguments): { readonly checked: Arguments; readonly misfit?: unknown } {
    const parameters = this.#tools.find((tool) => tool.name === name)?.parameters
    if (!parameters) throw new Error(this.#say(`cannot be reached, or has no tool '${name}'.`))
    if (this.#unchecked.has(name)) return { checked: args }
    try {
      return { checked: runLimited(() => checkArguments(localName, this.#compile(name, parameters), args), CHECK_MS) }
    } catch (misfit) {
      if (!isTimeLimit(misfit)) return { checked: args, misfit }
      this.#unchecked.add(name)
      this.#warn(`describes '${name}' by a schema that takes too long to check; its arguments are sent unchecked.`)
      return { checked: args }
    }
  }

  #compile(name: string, parameters: ToolDefinition['parameters']): CompiledSchema {
    const compiled = this.#compiled.get(name) ?? compileSchema(parameters)
    this.#compiled.set(name, compiled)
    return compiled
  }

  #connect(): Promise<Client> {
    this.#connecting ??= this.#tryToConnect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #tryToConnect(): Promise<Client> {
    try {
      if (this.#signIn && (await this.#signIn.token()) === undefined) throw new SignInNeeded(this.name)
      const { client, tools } = await this.#open()
      this.#client = client
      this.#take(tools)
      if (this.#backoff.hasFailed) this.#context.log.info(this.#say('can be reached now.'))
      this.#backoff.noteSuccess()
      this.#reported = ''
      this.#context.log.debug(this.#say(`has ${this.#tools.length} tools.`))
      await this.#note(tools)
      return client
    } catch (error) {
      // A person has to come first; the tools of the latest listing stay.
      if (this.#signIn && needsSignIn(error)) throw error
      this.#backoff.noteFailure()
      // Its tools are not there; those of others are.
      this.#take([])
      const problem = new Error(this.#say(`cannot be reached: ${reasonOf(error)}`), { cause: error })
      if (!this.#closing.signal.aborted && problem.message !== this.#reported) {
        this.#context.log.warn(`${problem.message}. ${this.#backoff.outlook}`)
        this.#reported = problem.message
      }
      this.#retryLater()
      throw problem
    }
  }

  /** Stores the tools for the next start, which can do without: a store that is away takes no tools away. */
  async #note(tools: readonly Tool[]): Promise<void> {
    try {
      await this.#signIn?.noteTools(tools)
    } catch (error) {
      this.#context.log.warn(`The tools of the MCP server '${this.name}' cannot be stored: ${messageOf(error)}`)
    }
  }

  /** Connects in the newest version that the server speaks. A program that exits at a newer request gets an older one. */
  async #open(): Promise<Opened> {
    if (this.#config.transport === 'sse' && this.#config.url !== undefined) return this.#openAs('legacy')
    try {
      return await this.#openAs('auto')
    } catch (error) {
      if (this.#config.command === undefined || this.#closing.signal.aborted) throw error
      return this.#openAs('legacy')
    }
  }

  async #openAs(mode: 'auto' | 'legacy'): Promise<Opened> {
    const client = new Client(
      { name: 'agent-host', version: VERSION },
      {
        versionNegotiation: { mode, probe: { timeoutMs: PROBE_TIMEOUT_MS } },
        listChanged: { tools: { onChanged: (_error, tools) => tools && this.#take(tools) } },
      },
    )
    const transport = mendMessages(this.#makeTransport(), (problem) => this.#warnOnce(this.#say(problem)))
    // What the program ended with says more than that the connection is closed.
    let reason = 'the connection was closed'
    client.onerror = ({ message }) => {
      reason = message
    }
    const abort = () => void transport.close()
    this.#closing.signal.addEventListener('abort', abort, { once: true })
    try {
      await client.connect(transport, { timeout: CONNECT_TIMEOUT_MS })
      const { tools } = await client.listTools()
      this.#closing.signal.throwIfAborted()
      client.onclose = () => this.#drop(client, reason)
      return { client, tools }
    } catch (error) {
      await client.close().catch(() => {})
      await transport.close().catch(() => {})
      throw isClosed(error) ? new Error(reason, { cause: error }) : error
    } finally {
      this.#closing.signal.removeEventListener('abort', abort)
    }
  }

  /** Not every server says that its tools are others by now. */
  #listAgain(client: Client): Promise<void> {
    this.#listing ??= client
      .listTools(undefined, { cacheMode: 'refresh', timeout: CONNECT_TIMEOUT_MS })
      .then(({ tools }) => {
        if (this.#client === client) this.#take(tools)
      })
      .catch((error: unknown) => {
        this.#warn(`does not list its tools again: ${reasonOf(error)}.`)
      })
      .finally(() => {
        this.#listing = undefined
      })
    return this.#listing
  }

  #makeTransport(): Transport {
    const { command, args, env, cwd, url = '', transport, headers, bearer } = this.#config
    if (command !== undefined) {
      const { projectDir, environment, log } = this.#context
      const seen = { ...pickEnvironment(environment, []), ...env }
      return new StdioTransport({ command, args, cwd: resolve(projectDir, cwd), env: seen, log })
    }
    const requestInit = { headers: bearer === undefined ? headers : { ...headers, authorization: `Bearer ${bearer}` } }
    // Redirects are left to the SDK, which follows none to another origin.
    const limited: typeof fetch = async (input, init) => limitBody(await fetch(input, init), MAX_MESSAGE_BYTES)
    const options = { requestInit, fetch: limited, authProvider: this.#signIn }
    if (transport === 'sse') return new SSEClientTransport(new URL(url), { ...options, fetch: reopenLater(limited) })
    return new StreamableHTTPClientTransport(new URL(url), { ...options, reconnectionScheduler: scheduleReopening })
  }

  #take(tools: readonly Tool[]): void {
    const { include, exclude } = this.#config
    this.#warnOfMissing(tools)
    const wanted = tools.filter(
      (tool) => (include?.includes(tool.name) ?? true) && !exclude.includes(tool.name) && this.#accepts(tool),
    )
    this.#tools = wanted.map(({ name, description = '', inputSchema }) => ({
      name,
      description,
      parameters: inputSchema,
      ...(this.#changed.has(name) ? { isChanged: true } : {}),
    }))
    this.#destructive = new Set(wanted.filter(isDestructive).map(({ name }) => name))
    this.#compiled.clear()
    this.#unchecked.clear()
    this.#onChange()
  }

  /** A misspelt name in `include` hides a tool without a word otherwise. */
  #warnOfMissing(tools: readonly Tool[]): void {
    const names = tools.map(({ name }) => name)
    const missing = (this.#config.include ?? []).filter((name) => !names.includes(name)).join("', '")
    if (missing !== '' && missing !== this.#missing) {
      const has = names.length === 0 ? 'It has none.' : `It has: ${names.join(', ')}.`
      this.#context.log.warn(
        `\`include\` names '${missing}', which the MCP server '${this.name}' does not have. ${has}`,
      )
    }
    this.#missing = missing
  }

  /** A server may turn harmless tools into others once they are trusted: the change is logged, and refused when pinned. */
  #accepts({ name, description, inputSchema }: Tool): boolean {
    const described = hash('sha256', JSON.stringify([description, inputSchema]))
    const before = this.#described.get(name)
    if (before === described) return true
    if (before === undefined && this.#described.size >= MAX_KNOWN_TOOLS) {
      this.#warnOnce(this.#say(`has listed ${MAX_KNOWN_TOOLS} tools: others are left out.`))
      return false
    }
    const { pin } = this.#config
    if (before === undefined || !pin) this.#described.set(name, described)
    if (before === undefined) return true
    this.#changed.add(name)
    const consequence = pin ? ' It is pinned, and refused.' : ''
    this.#warn(`has changed the description of '${name}'.${consequence}`)
    return !pin
  }

  /** Its tools stay: perhaps it is back before they are needed. */
  #drop(client: Client, reason: string): void {
    if (this.#client !== client || this.#closing.signal.aborted) return
    this.#client = undefined
    this.#warn(`is gone: ${reason}.`)
    client.onclose = undefined
    void client.close().catch(() => {})
    this.#retryLater()
  }

  #retryLater(): void {
    this.#backoff.later(() => (this.#client ? undefined : this.#connect()))
  }

  #warn(what: string): void {
    this.#context.log.warn(this.#say(what))
  }

  /** Sentence about this server. */
  #say(what: string): string {
    return `The MCP server '${this.name}' ${what}`
  }

  #toError(error: unknown, tool: string): Error {
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
      const { timeout, total_timeout } = this.#config
      const limit = isTotal(error) ? `took longer than ${total_timeout}` : `said nothing for ${timeout}`
      return new Error(`The tool '${tool}' ${limit} s.`, { cause: error })
    }
    return new Error(`The tool '${tool}' of the MCP server '${this.name}' failed: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** By the protocol, a tool is destructive unless its server denies it or says that the tool only reads. */
function isDestructive({ annotations: { readOnlyHint = false, destructiveHint = true } = {} }: Tool): boolean {
  return !readOnlyHint && destructiveHint
}

function scheduleReopening(reopen: () => void, pauseMs: number): () => void {
  const timer = setTimeout(reopen, Math.min(Math.max(pauseMs, REOPEN_MS), LONGEST_TIMER * 1000))
  return () => clearTimeout(timer)
}

/** Fetches the one stream of a server of protocol version 2024-11-05. */
function reopenLater(get: typeof fetch): typeof fetch {
  let nextMs = 0
  return async (input, init) => {
    if (init?.method === undefined) {
      await wait(Math.max(0, nextMs - performance.now()))
      nextMs = performance.now() + REOPEN_MS
    }
    return get(input, init)
  }
}

interface Opened {
  readonly client: Client
  readonly tools: readonly Tool[]
}

function isClosed(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed
}

/** Only the data of the SDK's error distinguishes a call prolonged too often from a silent one. */
function isTotal({ data }: SdkError): boolean {
  return typeof data === 'object' && data !== null && 'totalElapsed' in data
}

/** Streamable HTTP: a server answers 404 to a session that it does not know (any more). */
function isSessionLost(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404
}
