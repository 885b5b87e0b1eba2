import {
  type Adapter,
  type AdapterOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  HostError,
  type RunHandle,
  type RunResult,
  type Turn,
  Type,
} from 'agent-host'
import { type Alias, agentOf, readAliases } from './aliases.ts'
import { AnswerWriter, type WireEvent } from './answer-writer.ts'
import { countTokens, estimateTokens } from './count-tokens.ts'
import { toError, toErrorReply } from './errors.ts'
import { findIgnored } from './ignored.ts'
import { listModels, toModel } from './models.ts'
import { GROUP, ROUTES } from './routes.ts'
import type { Answer, MessageRequest } from './schema.ts'
import { Signatures } from './signatures.ts'
import { toTurn } from './to-turn.ts'

const PREFIX = '/anthropic'

/** Agents as models of the Messages API. */
export class MessagesAdapter implements Adapter {
  static readonly key = { header: 'x-api-key', variable: 'MESSAGES_API_KEY' }
  static readonly config = Type.Object(
    {
      /** Further names of agents: `claude-haiku-*=fast,claude-*=coder`. The first that fits counts. */
      aliases: Type.String({ default: '' }),
    },
    { additionalProperties: false },
  )
  readonly #options: AdapterOptions
  readonly #aliases: readonly Alias[]

  constructor(options: AdapterOptions) {
    this.#options = options
    this.#aliases = readAliases(String(options.config.aliases))
  }

  async adapt(app: FastifyInstance): Promise<void> {
    await app.register(async (scope) => this.#addRoutes(scope), { prefix: PREFIX })
  }

  #addRoutes(scope: FastifyInstance): void {
    const { host, http } = this.#options
    http.answerErrors(scope, toErrorReply)
    nameRequests(scope)
    scope.setNotFoundHandler((_request, reply) => reply.code(404).send(toError(404, 'Not Found')))
    const routes = http.describeRoutes(GROUP, ROUTES)
    scope.route(routes.createMessage((request, reply) => this.#create(request.body as MessageRequest, request, reply)))
    scope.route(
      routes.countMessageTokens((request, reply) =>
        this.#count({ ...(request.body as Conversation), max_tokens: 1 }, request, reply),
      ),
    )
    scope.route(routes.listMessageModels(() => listModels(host, this.#aliases)))
    scope.route(routes.getMessageModel(({ params }) => toModel(host, this.#aliases, params['*'])))
  }

  /** Asks the vendor of the agent's model; where there is none, or it cannot say, the number is an estimate. */
  async #count(body: MessageRequest, request: FastifyRequest, reply: FastifyReply) {
    const { host, log } = this.#options
    const name = agentOf(host, this.#aliases, body.model)
    const { turn } = await this.#toTurn(body, name, request, reply)
    const counted = await countTokens(host, name, turn).catch((error) => {
      log.warn(`The model of agent '${name}' counted no tokens, so they are estimated: ${String(error)}`)
    })
    if (counted !== undefined) return { input_tokens: counted }
    reply.header('x-estimated', 'true')
    return { input_tokens: estimateTokens(body) }
  }

  async #create(body: MessageRequest, request: FastifyRequest, reply: FastifyReply) {
    const asked = await this.#ask(body, request, reply)
    return body.stream ? this.#stream(asked, request, reply) : this.#collect(asked, request)
  }

  async #ask(body: MessageRequest, request: FastifyRequest, reply: FastifyReply): Promise<Asked> {
    const { host, http } = this.#options
    const name = agentOf(host, this.#aliases, body.model)
    const { turn, signatures } = await this.#toTurn(body, name, request, reply)
    const start = (onEvent: Turn['onEvent']) => http.startTurn(reply, name, { ...turn, onEvent })
    return { agent: name, body, turn, signatures, start }
  }

  async #toTurn(
    body: MessageRequest,
    name: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Pick<Asked, 'turn' | 'signatures'>> {
    const { host, http, sealing, tenantOf, variantOf } = this.#options
    const ignored = findIgnored(body, String(request.headers['anthropic-beta'] ?? ''))
    if (ignored.length > 0) reply.header('x-ignored', ignored.join(', '))
    const { agent, capabilities } = host.resolve(name)
    const tenant = tenantOf(request)
    const signatures = new Signatures(sealing, tenant, agent.id)
    const turn = {
      ...(await toTurn(body, name, http.chooseTools, { readAddress: http.readAddress, capabilities, signatures })),
      tenant,
      traceparent: http.traceparentOf(request),
      variant: await variantOf(request, name),
    }
    return { turn, signatures }
  }

  async #collect(asked: Asked, request: FastifyRequest): Promise<Answer> {
    const run = this.#start(asked, () => {})
    const result = await run.handle.result
    return run.writer.end(result, await this.#describeOpen(asked, result, request))
  }

  async #stream(asked: Asked, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { http, options, describeFailure } = this.#options
    const keepAliveMs = options.streamingTimeout * 1000
    const early: string[] = []
    let send = (frame: string): void | Promise<void> => void early.push(frame)
    const started = this.#start(asked, (event) => send(toFrame(event)))
    const { handle, writer } = started
    // Until then a failure is answered with its own status, which tells clients whether to try again.
    await untilBegun(started, keepAliveMs)
    return http.streamAnswer(request, reply, {
      keepAlive: () => PING,
      keepAliveMs,
      failure: (error) => toFrame(toFailure(error, describeFailure)),
      send: async (stream) => {
        stream.send(toFrame(writer.start()) + PING + early.join(''))
        send = (frame) => stream.send(frame)
        const result = await handle.result
        const more = await this.#describeOpen(asked, result, request)
        const last: string[] = []
        send = (frame) => void last.push(frame)
        await writer.end(result, more)
        stream.end(last.join(''))
      },
    })
  }

  #start({ body, signatures, start }: Asked, emit: (event: WireEvent) => void | Promise<void>): Started {
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    let writer: AnswerWriter | undefined
    const handle = start((event) => {
      if (event.type !== 'end') begin()
      return writer?.take(event)
    })
    // No event comes before the run is returned.
    writer = new AnswerWriter({
      id: `msg_${handle.id.replaceAll('-', '')}`,
      model: body.model,
      signatures,
      stopSequences: body.stop_sequences ?? [],
      showsThinking: body.thinking?.type !== 'disabled',
      emit,
    })
    return { handle, writer, begun, begin }
  }

  /** Stores what a person has to decide, and returns the text that says so. Calls of the client come first. */
  async #describeOpen({ agent, turn }: Asked, result: RunResult, request: FastifyRequest): Promise<string> {
    const { http, runs, tenantOf } = this.#options
    if (result.pending.length === 0 || result.pending.some(({ kind }) => kind === 'client_tool')) return ''
    // The run that goes on would wait for ever for a result of the client's tools: nothing here takes it.
    const kept = { ...turn, clientTools: undefined, agent, result }
    const open = await runs.of(tenantOf(request)).keep(kept)
    return http.describeOpen(open, request, `${PREFIX}/v1/messages`)
  }
}

/** Body of a request that is counted. */
type Conversation = Omit<MessageRequest, 'max_tokens'>

/** A request that is ready to start. */
interface Asked {
  readonly agent: string
  readonly body: MessageRequest
  readonly turn: Turn
  readonly signatures: Signatures
  readonly start: (onEvent: Turn['onEvent']) => RunHandle
}

interface Started {
  readonly handle: RunHandle
  readonly writer: AnswerWriter
  /** Fulfilled with the first event of the run. */
  readonly begun: Promise<void>
  readonly begin: () => void
}

/** Clients of the protocol know a request by a header, and errors by a field of the same name. */
function nameRequests(scope: FastifyInstance): void {
  const name = async ({ id }: FastifyRequest, reply: FastifyReply) => void reply.header('request-id', id)
  // A request that the door refuses comes to the second alone, a stream to the first.
  scope.addHook('onRequest', name)
  scope.addHook('onSend', name)
  scope.addHook('preSerialization', async ({ id }, _reply, payload) =>
    isError(payload) ? { ...payload, request_id: id } : payload,
  )
}

function isError(payload: unknown): payload is object {
  return typeof payload === 'object' && payload !== null && 'type' in payload && payload.type === 'error'
}

function toFrame(event: WireEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

const PING = toFrame({ type: 'ping' })

function toFailure(error: unknown, describeFailure: AdapterOptions['describeFailure']): WireEvent {
  const isClients = error instanceof HostError && error.statusCode < 500
  return isClients ? toError(error.statusCode, error.message) : toError(500, describeFailure(error))
}

/** @throws HostError where the run ends before it has begun */
async function untilBegun({ begun, begin, handle }: Started, timeoutMs: number): Promise<void> {
  const timeout = setTimeout(begin, timeoutMs)
  try {
    await Promise.race([begun, handle.result])
  } finally {
    clearTimeout(timeout)
  }
}
