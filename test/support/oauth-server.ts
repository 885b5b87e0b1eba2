import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

interface Grant {
  readonly client: string
  readonly redirectUri: string
  readonly challenge: string
}

/** Code of one sign-in, and the tokens that it led to. */
interface Session {
  access: string
  refresh: string
  /** Refresh tokens that were used before, with the time of that (`performance.now()`). */
  readonly used: ReadonlyMap<string, number>
}

/**
 * An MCP server that wants a token, and its authorization server (RFC 6749 with PKCE, RFC 7591, RFC 8414, RFC 9728), in one process. People sign
 * in by {@link OAuthServer.signIn}.
 */
export class OAuthServer {
  /** Tokens of the tool calls that were executed, in their order. */
  readonly executed: string[] = []
  /** Redirect addresses of the clients that registered. */
  readonly registered: string[][] = []
  /** Tokens of all kinds that clients were given, in their order. */
  readonly issued: string[] = []
  /** Codes that were given, in their order. */
  readonly codes: string[] = []
  /** User information of the address of the sign-in, with its @. */
  userInformation = ''
  /** Code verifiers (PKCE) that came with a code, in their order. */
  readonly verifiers: string[] = []
  refreshes = 0
  /** Tokens that MCP requests came with, in their order. */
  readonly seen: string[] = []
  /** Refuses each token at the MCP server; tokens are renewed all the same. */
  refusesAll = false
  /** Secret that clients need for tokens; undefined for none. */
  clientSecret: string | undefined
  /** Secrets that requests for tokens came with, in their order. */
  readonly secrets: (string | null)[] = []
  /** End of each access token. */
  tokenEnd = ''
  /** Time until a request for tokens is answered. */
  tokenDelayMs = 0
  /** Time for which a refresh token that was used counts once more, as many authorization servers have it. */
  graceMs = 0
  /** Number of registrations that have come in when the first of them is answered. */
  registrationsAtOnce = 1
  readonly #registering: (() => void)[] = []
  #onHeld: (() => void) | undefined
  readonly #http: Server
  readonly #grants = new Map<string, Grant>()
  readonly #sessions = new Map<string, Session>()
  readonly #names: { readonly mcp: string; issuer: string }

  static async start(issuerHost = '127.0.0.1'): Promise<OAuthServer> {
    const http = createServer()
    http.listen(0, issuerHost === 'localhost' ? undefined : '127.0.0.1')
    await once(http, 'listening')
    return new OAuthServer(http, issuerHost)
  }

  private constructor(http: Server, issuerHost: string) {
    const { port } = http.address() as AddressInfo
    this.#http = http
    this.#names = { mcp: `http://127.0.0.1:${port}/mcp`, issuer: `http://${issuerHost}:${port}` }
    const handler = createMcpHandler(makeTools)
    http.on('request', async (incoming: IncomingMessage, outgoing) => {
      const body = await readAll(incoming)
      const url = new URL(incoming.url ?? '/', this.#names.issuer)
      const isToken = url.pathname === '/token'
      if (isToken) await setTimeout(this.tokenDelayMs, undefined, { ref: false })
      if (url.pathname === '/register') await this.#untilRegisteredTogether()
      const reply =
        url.pathname === '/mcp' ? await this.#serveMcp(incoming, body, handler) : this.#authorize(url, body.toString())
      if (isToken && this.#onHeld) return this.#onHeld()
      outgoing.writeHead(reply.status, Object.fromEntries(reply.headers))
      for await (const chunk of reply.body ?? []) outgoing.write(chunk)
      outgoing.end()
    })
  }

  get url(): string {
    return this.#names.mcp
  }

  /** Signs a person in at an address as a browser does. @returns the address that the browser is sent to */
  async signIn(address: string): Promise<URL> {
    const { headers, status } = await fetch(address, { redirect: 'manual' })
    if (status !== 302) throw new Error(`${address} answered ${status}.`)
    return new URL(headers.get('location') ?? '')
  }

  /** Issues the next tokens, and never answers with them. @returns when that is so */
  holdToken(): Promise<void> {
    return new Promise((resolve) => {
      this.#onHeld = () => {
        this.#onHeld = undefined
        resolve()
      }
    })
  }

  /** Has another authorization server in its place: what the first one has issued no longer counts. */
  moveIssuer(host: string): void {
    this.#names.issuer = `http://${host}:${new URL(this.#names.mcp).port}`
    this.revoke()
  }

  /** Has no access token count any more; they can be refreshed. */
  expire(): void {
    for (const session of this.#sessions.values()) session.access = ''
  }

  /** Has no token count any more. */
  revoke(): void {
    this.#sessions.clear()
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections()
    this.#http.close()
  }

  async #untilRegisteredTogether(): Promise<void> {
    const isComplete = new Promise<void>((resolve) => this.#registering.push(resolve))
    if (this.#registering.length >= this.registrationsAtOnce) for (const answer of this.#registering.splice(0)) answer()
    await isComplete
  }

  async #serveMcp(
    { method = 'GET', headers }: IncomingMessage,
    body: Buffer,
    handler: ReturnType<typeof createMcpHandler>,
  ): Promise<Response> {
    const token = headers.authorization?.replace('Bearer ', '') ?? ''
    this.seen.push(token)
    const isValid =
      token !== '' && !this.refusesAll && [...this.#sessions.values()].some(({ access }) => access === token)
    if (!isValid) {
      const metadata = `${this.#names.issuer}/.well-known/oauth-protected-resource/mcp`
      return new Response(null, {
        status: 401,
        headers: { 'www-authenticate': `Bearer resource_metadata="${metadata}"` },
      })
    }
    if (body.includes('"tools/call"')) this.executed.push(token)
    const init = { method, headers: headers as Record<string, string>, ...(body.length > 0 ? { body } : {}) }
    return handler.fetch(new Request(this.#names.mcp, init))
  }

  #authorize(url: URL, body: string): Response {
    const { issuer, mcp } = this.#names
    if (url.pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return Response.json({ resource: mcp, authorization_servers: [issuer] })
    }
    if (url.pathname.startsWith('/.well-known/oauth-authorization-server')) {
      return Response.json({
        issuer,
        authorization_endpoint: `${issuer.replace('://', `://${this.userInformation}`)}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
        authorization_response_iss_parameter_supported: true,
      })
    }
    if (url.pathname === '/register') {
      const given = JSON.parse(body) as { redirect_uris: string[] }
      this.registered.push(given.redirect_uris)
      return Response.json({ ...given, client_id: randomUUID() }, { status: 201 })
    }
    if (url.pathname === '/authorize') return this.#grant(url.searchParams)
    if (url.pathname === '/token') return this.#issue(new URLSearchParams(body))
    return new Response(null, { status: 404 })
  }

  #grant(query: URLSearchParams): Response {
    const redirectUri = query.get('redirect_uri') ?? ''
    const challenge = query.get('code_challenge') ?? ''
    if (query.get('code_challenge_method') !== 'S256' || challenge === '') return new Response(null, { status: 400 })
    const code = randomUUID()
    this.codes.push(code)
    this.#grants.set(code, { client: query.get('client_id') ?? '', redirectUri, challenge })
    const back = new URL(redirectUri)
    back.search = String(new URLSearchParams({ code, state: query.get('state') ?? '', iss: this.#names.issuer }))
    return new Response(null, { status: 302, headers: { location: back.href } })
  }

  #issue(given: URLSearchParams): Response {
    const refuse = () => Response.json({ error: 'invalid_grant' }, { status: 400 })
    this.secrets.push(given.get('client_secret'))
    if (this.clientSecret !== undefined && given.get('client_secret') !== this.clientSecret) {
      return Response.json({ error: 'invalid_client' }, { status: 401 })
    }
    if (given.get('grant_type') === 'refresh_token') {
      const token = given.get('refresh_token') ?? ''
      const found = [...this.#sessions].find(([, { refresh, used }]) => refresh === token || used.has(token))
      if (!found) return refuse()
      const [id, { refresh, used }] = found
      this.refreshes++
      const isInGrace = performance.now() - (used.get(token) ?? 0) < this.graceMs
      if (refresh === token || isInGrace) return this.#answer(id, new Map([...used, [token, performance.now()]]))
      // One that is used again may be stolen: the sign-in ends (RFC 9700, section 4.14.2).
      this.#sessions.delete(id)
      return refuse()
    }
    const code = given.get('code') ?? ''
    const grant = this.#grants.get(code)
    // A code is good once (RFC 6749, section 4.1.2).
    this.#grants.delete(code)
    const verifier = given.get('code_verifier') ?? ''
    this.verifiers.push(verifier)
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const fits =
      grant?.challenge === challenge &&
      grant.client === given.get('client_id') &&
      grant.redirectUri === given.get('redirect_uri')
    return fits ? this.#answer(code) : refuse()
  }

  #answer(session: string, used: ReadonlyMap<string, number> = new Map()): Response {
    const tokens = { access: `access-${randomUUID()}${this.tokenEnd}`, refresh: `refresh-${randomUUID()}`, used }
    this.#sessions.set(session, tokens)
    this.issued.push(tokens.access, tokens.refresh)
    return Response.json({
      access_token: tokens.access,
      refresh_token: tokens.refresh,
      token_type: 'Bearer',
      expires_in: 3600,
    })
  }
}

function makeTools(): McpServer {
  const server = new McpServer({ name: 'issues', version: '1.0.0' })
  const about = {
    description: 'Counts the issues.',
    inputSchema: z.object({ top: z.number().default(10) }),
    annotations: { readOnlyHint: true },
  }
  server.registerTool('count_issues', about, () => ({ content: [{ type: 'text', text: '42 issues' }] }))
  return server
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Calls the tool that the message names, perhaps with the id of the call (`pay as call_1`), and says its result. */
const CALLER = `import { ConversationHistory, defineModule, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Caller', provides: [TextMessageHandler],
  uses: { tools: ToolProvider, history: ConversationHistory, response: Response },
  create: ({ tools, history, response }) => ({ async handleText(text, run) {
    const names = (await tools.listTools(run)).map(({ name }) => name).join(' ')
    const [result] = (await history.getHistory()).filter(({ role }) => role === 'tool').slice(-1)
    if (result) return void (await response.respondText(result.content + ' | ' + names))
    if (text === 'list') return void (await response.respondText(names))
    const [tool, callId = 'call_' + run.id] = text.split(' as ')
    const { text: said } = await tools.executeTool(tool, {}, run.with({ toolCallId: callId })).catch(({ message }) => ({ text: message }))
    await response.respondText(said + ' | ' + names)
  } }) })`

/** Project with the agent `desk`, which calls the tool that a message names; `issues` wants a sign-in. */
export function signInAgent(url: string, oauth = '{}', more = ''): Readonly<Record<string, string>> {
  return {
    'agents/desk.yml': `id: desk
modules:
  - id: tools
    module: tools/mcp
    config: { connect_timeout: 5, servers: [{ name: issues, url: "${url}", oauth: ${oauth}${more} }] }
  - { id: main, module: caller }`,
    'modules/caller.ts': CALLER,
  }
}
