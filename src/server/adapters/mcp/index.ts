import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HostError, messageOf } from '../../../errors.ts'
import { isObject } from '../../../json.ts'
import { parseJson } from '../../bodies/json-body.ts'
import { readTraceparent } from '../../bodies/read-traceparent.ts'
import { principalOf } from '../../guards/principal.ts'
import { deciderOf, mayDecide, requireMayDecide } from '../../inbox/may-decide.ts'
import { baseUrlOf } from '../../replies/base-url-of.ts'
import { DETAILS } from '../../replies/error-replies.ts'
import { streamAnswer, whenClientLeaves } from '../../streams/serve-turn.ts'
import type { Adapter, AdapterOptions, StoreAdapterOptions } from '../adapter.ts'
import type { CallMemory } from './call-memory/call-memory.ts'
import { openCallMemory } from './call-memory/open-call-memory.ts'
import { sealFor } from './call-memory/seal-for.ts'
import { canElicitForm } from './elicitation/elicitation.ts'
import { CallInFlight, HandshakeProtocol, type Peer } from './handshake-protocol.ts'
import {
  failure,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  JsonRpcError,
  NOTHING,
  PARSE_ERROR,
  UNAUTHORIZED,
  withExactId,
} from './json-rpc.ts'
import { mcpRoutes } from './routes.ts'
import type { SdkProtocol } from './sdk-protocol.ts'
import { AgentTools } from './tools/agent-tools.ts'
import { noteRefusal } from './tools/to-rpc-error.ts'
import { isForSdk, readVersion } from './versions.ts'

/** Agents as tools for any client of the Model Context Protocol. */
export class McpApiAdapter implements Adapter {
  readonly #options: StoreAdapterOptions
  readonly #memory: CallMemory
  readonly #tools: AgentTools
  readonly #plain: HandshakeProtocol
  /** Loaded by the first client that needs it. */
  #sdk: Promise<SdkProtocol> | undefined

  constructor(options: StoreAdapterOptions) {
    this.#options = options
    const memory = openCallMemory(options.options, options.openRecords)
    this.#memory = memory
    const seal = sealFor(options.durableRuns)
    this.#tools = new AgentTools({ ...options, limits: options.options, memory, seal })
    this.#plain = new HandshakeProtocol(this.#tools, memory)
  }

  async adapt(app: FastifyInstance): Promise<void> {
    const { options } = this.#options
    const hasOwnKey = (options.mcpApiKey ?? process.env.MCP_API_KEY ?? '') !== ''
    const challenge = options.jwtIssuer && !hasOwnKey ? await import('./token-challenge.ts') : undefined
    challenge?.serveResourceMetadata(app, options)
    app.removeContentTypeParser('application/json')
    // What is not JSON is answered in terms of JSON-RPC, not of HTTP.
    app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, ({ headers }, text, done) => {
      done(null, readBody(text, headers))
    })
    const answerError = app.errorHandler
    app.setErrorHandler((error: FastifyError, request, reply) => {
      const refusal = statusOfRefusal(error)
      if (challenge && error.code === 'UNAUTHORIZED') {
        reply.code(401).header('www-authenticate', challenge.challengeOf(request, options))
        return sendJson(reply, failure(null, UNAUTHORIZED, error.message))
      }
      if (refusal !== undefined) return sendJson(reply.code(refusal), failure(null, UNAUTHORIZED, error.message))
      const { statusCode = 500 } = error
      const detail = DETAILS[statusCode]
      if (detail === undefined || error instanceof HostError) return answerError(error, request, reply)
      return sendJson(reply.code(statusCode), failure(null, INVALID_REQUEST, `Invalid Request: ${detail}`))
    })
    app.addHook('preClose', async () => (await this.#sdk)?.close())
    app.addHook('onClose', () => this.#tools.close())
    const { sendMcpMessage } = mcpRoutes(this.#options.requiresKey)
    app.route(sendMcpMessage((request, reply) => this.#answer(request, reply)))
  }

  forgetUser(tenant: string, user: string): number {
    return this.#memory.of(tenant).forgetUser(user)
  }

  #answer(request: FastifyRequest, reply: FastifyReply): unknown {
    const { body, headers } = request
    if (body instanceof JsonRpcError) {
      noteRefusal(body, request)
      return sendJson(reply, failure(null, body.code, body.message))
    }
    if (Array.isArray(body) ? body.some(isAnswer) : isAnswer(body)) requireMayDecide(request)
    if (isForSdk(headers, body)) return this.#answerBySdk(request, reply)
    const peer = toPeer(request, reply, this.#options, false)
    if (Array.isArray(body)) return this.#answerBatch(body, peer, reply)
    const answer = this.#plain.answer(body, peer)
    if (answer instanceof CallInFlight) return this.#wait(answer, request, reply)
    // A name for the client, not a session: cancelling finds the right request by it.
    if (isObject(body) && body.method === 'initialize') reply.header('mcp-session-id', nameSession(body))
    return sendJson(reply, answer)
  }

  async #answerBySdk(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    this.#sdk ??= import('./sdk-protocol.ts').then(({ SdkProtocol }) => new SdkProtocol(this.#options, this.#tools))
    const client = toPeer(request, reply, this.#options, true)
    return (await this.#sdk).answer(request, reply, client)
  }

  async #answerBatch(body: readonly unknown[], peer: Peer, reply: FastifyReply): Promise<unknown> {
    const calls: CallInFlight[] = []
    const answer = this.#plain.answerBatch(body, peer, (call) => calls.push(call))
    abortOnLeave(calls, reply)
    return sendJson(reply, await answer)
  }

  #wait(call: CallInFlight, request: FastifyRequest, reply: FastifyReply): unknown {
    abortOnLeave([call], reply)
    if (call.mayAsk || (call.progressToken !== undefined && takesEvents(request))) {
      return this.#stream(call, request, reply)
    }
    reply.header('content-type', JSON_TYPE)
    return call.answer
  }

  #stream(call: CallInFlight, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    return streamAnswer(request, reply, this.#options.streams, {
      keepAlive: () => ': keep-alive\n\n',
      keepAliveMs: this.#options.options.streamingTimeout * 1000,
      send: async (stream) => {
        call.onProgress = (message) => stream.send(toEvent(call.tellProgress(message)))
        call.onQuestion = (message) => void stream.send(toEvent(message))
        stream.end(toEvent(await call.answer))
      },
      failure: (error) => toEvent(failure(call.id, INTERNAL_ERROR, this.#options.describeFailure(error))),
    })
  }
}

/** Status of a refusal that is answered in terms of JSON-RPC: 200 for the key, as the specification has it. */
function statusOfRefusal(error: Error): number | undefined {
  if (!(error instanceof HostError)) return undefined
  if (error.code === 'ORIGIN_FORBIDDEN') return error.statusCode
  return error.code === 'UNAUTHORIZED' || error.code === 'KEY_FORBIDDEN' ? 200 : undefined
}

/** Tells whether a message has answers of a person: a response to a question, or a call that goes on with them. */
function isAnswer(message: unknown): boolean {
  if (!isObject(message)) return false
  const { method, params } = message
  if (method === undefined) return 'result' in message
  return isObject(params) && params.inputResponses !== undefined
}

function readBody(text: string, headers: IncomingHttpHeaders): unknown {
  try {
    const body = parseJson(text)
    return isForSdk(headers, body) ? body : withExactId(body, text)
  } catch (error) {
    return new JsonRpcError(PARSE_ERROR, `Parse error: ${messageOf(error)}`)
  }
}

/** Sessions of clients whose users can be asked: no server has to remember which those are. */
const ASKABLE = 'ask-'

function nameSession({ params }: Readonly<Record<string, unknown>>): string {
  const capabilities = isObject(params) ? params.capabilities : undefined
  const { elicitation } = isObject(capabilities) ? capabilities : {}
  return canElicitForm(elicitation) ? ASKABLE + randomUUID() : randomUUID()
}

/** @param isSdk whether the SDK serves the request: it knows by itself whether its client can ask */
function toPeer(request: FastifyRequest, reply: FastifyReply, { variantOf }: AdapterOptions, isSdk: boolean): Peer {
  const { headers, body } = request
  const session = headers['mcp-session-id']
  const key = session === undefined ? undefined : String(session)
  const canAsk = isSdk || (key?.startsWith(ASKABLE) && takesEvents(request) && !Array.isArray(body))
  return {
    version: readVersion(headers['mcp-protocol-version']),
    key,
    tenant: principalOf(request).tenant,
    source: request,
    answer: reply.raw,
    baseUrl: baseUrlOf(request, '/mcp'),
    traceparent: readTraceparent(headers.traceparent),
    decider: canAsk && mayDecide(request) ? deciderOf(request).by : undefined,
    variantOf: (name) => variantOf(request, name, '.'),
  }
}

function takesEvents({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/event-stream') === true
}

function abortOnLeave(calls: readonly CallInFlight[], reply: FastifyReply): void {
  whenClientLeaves(reply, ({ message }) => {
    for (const call of calls) call.abort(message)
  })
}

const JSON_TYPE = 'application/json; charset=utf-8'

function sendJson(reply: FastifyReply, answer: string): FastifyReply {
  if (answer === NOTHING) return reply.code(202).send()
  return reply.header('content-type', JSON_TYPE).send(answer)
}

function toEvent(message: string): string {
  return `event: message\ndata: ${message}\n\n`
}
