import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Deferred, deferred } from '../../../async.ts'
import type { OpenCall, TenantRuns } from '../../../durable/adapter-runs/adapter-runs.ts'
import type { Decisions } from '../../../durable/decisions/resumption.ts'
import { badRequest, clientCodeOf, HostError } from '../../../errors.ts'
import { fieldsOf } from '../../../json.ts'
import { nowSeconds } from '../../../now-seconds.ts'
import { NO_USAGE } from '../../../protocols/usage.ts'
import type { RunEventSink } from '../../../run/run-event.ts'
import type { RunHandle, RunResult, Turn } from '../../../run/turn.ts'
import type { PendingCall } from '../../../run/waiting/pending-call.ts'
import { liftDataUrls } from '../../bodies/lift-data-urls.ts'
import { noUserMessage } from '../../bodies/read-messages.ts'
import { readTraceparent } from '../../bodies/read-traceparent.ts'
import { principalOf } from '../../guards/principal.ts'
import { describeOpen } from '../../inbox/describe-open.ts'
import { deciderOf } from '../../inbox/may-decide.ts'
import { baseUrlOf } from '../../replies/base-url-of.ts'
import type { Dialect } from '../../replies/dialect.ts'
import { replyFor } from '../../replies/error-replies.ts'
import { serveDialects } from '../../replies/serve-dialects.ts'
import type { EventStream } from '../../streams/event-streams.ts'
import { type StreamedAnswer, signalOfLeaving, startTurn, streamAnswer } from '../../streams/serve-turn.ts'
import type { Adapter, StoreAdapterOptions } from '../adapter.ts'
import { readDecisions, takesApprovalCalls, toApprovalCall } from './approvals.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { type Completion, type Ending, isClientCall, type Reply, toCompletion } from './completion.ts'
import { eventToContent } from './event-to-content.ts'
import { HandedCalls } from './handed-calls.ts'
import { listDescribedModels, listModelEntries, toDescribedModel, toModelEntry } from './models.ts'
import { chatRoutes } from './routes.ts'
import type { ChatCompletion, ChatRequest } from './schema.ts'
import { toTurn } from './to-turn.ts'

/** Agents as models of a chat-completions-compatible API. */
export class ChatCompatApiAdapter implements Adapter {
  readonly #options: StoreAdapterOptions
  readonly #handed = new HandedCalls()

  constructor(options: StoreAdapterOptions) {
    this.#options = options
  }

  async adapt(app: FastifyInstance): Promise<void> {
    await serveDialects(app, this.#options, (scope, dialect) => this.#addRoutes(scope, dialect))
  }

  #addRoutes(scope: FastifyInstance, dialect: Dialect): void {
    const { createChatCompletion, listModels, getModel } = chatRoutes(dialect, this.#options.requiresKey)
    scope.route({
      ...createChatCompletion((request, reply) => this.#complete(request.body, request, reply, dialect)),
      ...liftDataUrls(),
      preValidation: (request, _reply, done) => done(findMissing(request.body)),
    })
    const list = dialect.isExtended ? listDescribedModels : listModelEntries
    scope.route(listModels(() => ({ object: 'list', data: list(this.#options.host) })))
    scope.route(
      getModel(({ params: { '*': name } }, reply) => {
        if (dialect.isExtended) return toDescribedModel(this.#options.host, name)
        return this.#options.host.get(name) ? toModelEntry(name) : reply.code(404).send({ detail: 'model not found' })
      }),
    )
  }

  #complete(body: ChatRequest, request: FastifyRequest, reply: FastifyReply, dialect: Dialect) {
    const decisions = readDecisions(body.messages)
    if (decisions.size > 0) return this.#decide(decisions, body, request, reply)
    const variant = this.#options.variantOf(request, body.model)
    return variant
      ? variant.then((changes) => this.#run(body, request, reply, dialect, changes))
      : this.#run(body, request, reply, dialect)
  }

  #run(body: ChatRequest, request: FastifyRequest, reply: FastifyReply, dialect: Dialect, variant?: Turn['variant']) {
    return body.stream
      ? this.#stream(body, request, reply, dialect, variant)
      : this.#collect(body, request, reply, dialect, variant)
  }

  async #collect(
    body: ChatRequest,
    request: FastifyRequest,
    reply: FastifyReply,
    dialect: Dialect,
    variant: Turn['variant'],
  ): Promise<ChatCompletion> {
    const answer: Reply = { text: '', reasoning: '' }
    const turn = this.#toTurn(body, request, dialect, variant, (event) => {
      if (event.type === 'reasoning') answer.reasoning += event.text
      else answer.text += eventToContent(event)
    })
    const handle = this.#start(body, turn, reply)
    const result = await handle.result
    const completion = nameCompletion(handle, body)
    this.#handed.note(body.model, turn, result)
    if (result.status === 'completed') return toCompletion(completion, answer, result)
    const { text, pending } = await this.#showOpen(body, turn, result, request)
    answer.text += text
    return toCompletion(completion, answer, endingOf(result, pending))
  }

  /** Ends an answer with the calls of the client, and with the decisions that the run waits for: as such calls, or as text. */
  async #showOpen(body: ChatRequest, turn: Turn, result: RunResult, request: FastifyRequest): Promise<Shown> {
    // The client's calls come first: the run that gets their outputs asks again for what else it waits for.
    if (result.pending.length === 0 || result.pending.some(isClientCall)) return { text: '', pending: result.pending }
    const { messages, user, metadata, requestOptions, clientTools, variant } = turn
    const kept = { agent: body.model, messages, user, metadata, requestOptions, clientTools, variant, result }
    return this.#show(await this.#runsOf(request).keep(kept), body, request)
  }

  /** Continues a stored run. The client's version of its history is ignored. */
  async #decide(
    decisions: Decisions,
    body: ChatRequest,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<ChatCompletion> {
    const { by, requireMayDecide } = deciderOf(request)
    requireMayDecide()
    const runs = this.#runsOf(request)
    const leaving = signalOfLeaving(reply)
    const work = async (): Promise<Ending & Pick<Reply, 'text'>> => {
      const decided = await runs.answer(decisions, by)
      const { continuedBy } = decided
      const ended = continuedBy === null ? undefined : await runs.outcome(continuedBy, leaving)
      const { open, ...result } = ended ?? { ...NOTHING_SAID, open: decided.open }
      const shown = this.#show(open, body, request)
      return { ...result, text: result.text + shown.text, pending: shown.pending }
    }
    const completion = nameCompletion({ id: request.id }, body)
    if (!body.stream) {
      const { text, ...ending } = await work()
      return toCompletion(completion, { text, reasoning: '' }, ending)
    }
    const chunks = new ChunkWriter(completion)
    return streamAnswer(request, reply, this.#options.streams, {
      keepAlive: () => chunks.text(''),
      keepAliveMs: this.#options.options.streamingTimeout * 1000,
      send: async (stream) => {
        stream.send(chunks.start())
        const { text, ...ending } = await work()
        sendEnd(stream, chunks, { text, pending: ending.pending })
        stream.end(chunks.end(ending, body.stream_options?.include_usage ?? false))
      },
      failure: (error) => chunks.failure(replyFor(error, this.#options.describeFailure).detail),
    })
  }

  #stream(body: ChatRequest, request: FastifyRequest, reply: FastifyReply, dialect: Dialect, variant: Turn['variant']) {
    let stream: EventStream | undefined
    let early = ''
    // An agent lists its tools before it does anything else: then it is known if one has the name of a client's. The status tells a limit
    // of the model's vendor, which the specification does not have.
    const { isExtended } = dialect
    const begun = body.tools || isExtended ? deferred() : undefined
    const turn = this.#toTurn(body, request, dialect, variant, (event) => {
      if (event.type !== 'end') begun?.resolve()
      const chunk = chunks.write(event)
      if (chunk === '') return
      if (stream) return stream.send(chunk)
      early += chunk
    })
    // Started first: a run that is refused is still answered with its own status.
    const handle = this.#start(body, turn, reply)
    const chunks = new ChunkWriter(nameCompletion(handle, body))
    const keepAliveMs = this.#options.options.streamingTimeout * 1000
    const answer: StreamedAnswer = {
      keepAlive: () => chunks.text(''),
      keepAliveMs,
      send: async (opened) => {
        stream = opened
        stream.send(chunks.start() + early)
        const result = await handle.result
        this.#handed.note(body.model, turn, result)
        const { text, pending } = await this.#showOpen(body, turn, result, request)
        // Calls of the client were sent as they came.
        sendEnd(stream, chunks, { text, pending: pending === result.pending ? [] : pending })
        stream.end(chunks.end(endingOf(result, pending), body.stream_options?.include_usage ?? false))
      },
      failure: (error) =>
        chunks.failure(this.#options.describeFailure(error), isExtended ? clientCodeOf(error) : undefined),
    }
    const open = () => streamAnswer(request, reply, this.#options.streams, answer)
    return begun ? this.#whenBegun(begun, handle, body).then(open) : open()
  }

  /** Waits until something has happened in a run, for so long at most. @throws what the status of the answer has to tell */
  async #whenBegun(begun: Deferred<void>, { result }: RunHandle, body: ChatRequest): Promise<void> {
    result.then(() => begun.resolve(), begun.reject)
    const forget = this.#options.streams.after(this.#options.options.streamingTimeout * 1000, begun.resolve)
    try {
      await begun.promise
    } catch (error) {
      if (body.tools || isForClient(error)) throw error
    } finally {
      forget()
    }
  }

  #show(open: readonly OpenCall[], body: ChatRequest, request: FastifyRequest): Shown {
    if (takesApprovalCalls(body)) return { text: '', pending: open.map(toApprovalCall) }
    const baseUrl = this.#options.servesInbox ? baseUrlOf(request, '/chat/completions') : undefined
    const [ofClient, asked] = [
      open.filter(({ call }) => isClientCall(call)),
      open.filter(({ call }) => !isClientCall(call)),
    ]
    return {
      text: describeOpen(asked, baseUrl),
      pending: ofClient.map(toApprovalCall),
    }
  }

  #runsOf(request: FastifyRequest): TenantRuns {
    return this.#options.runs.of(principalOf(request).tenant)
  }

  #toTurn(
    body: ChatRequest,
    request: FastifyRequest,
    dialect: Dialect,
    variant: Turn['variant'],
    onEvent: RunEventSink,
  ): Turn {
    const findCapabilities = () => this.#options.host.resolve(body.model).capabilities
    const { tenant, user } = principalOf(request)
    const traceparent = readTraceparent(request.headers.traceparent)
    return toTurn(body, { dialect, tenant, user, variant, traceparent, findCapabilities, onEvent })
  }

  /** Starts a turn; one that ends with outputs of the client follows the run that has called. */
  #start(body: ChatRequest, turn: Turn, reply: FastifyReply): RunHandle {
    const answersTo = this.#handed.find(body.model, turn)
    return startTurn(reply, this.#options.host, body.model, answersTo === undefined ? turn : { ...turn, answersTo })
  }
}

/** Tells whether the status of an answer that has not begun tells the cause. */
function isForClient(error: unknown): boolean {
  if (!(error instanceof HostError)) return false
  return error.limit !== undefined || error.code === 'REQUEST_INVALID' || clientCodeOf(error) !== undefined
}

/** Answer to a decision while something else is open. */
const NOTHING_SAID = { text: '', usage: NO_USAGE, incompleteReason: undefined }

/** Part of an answer that describes pending calls. */
interface Shown {
  readonly text: string
  readonly pending: readonly PendingCall[]
}

function endingOf({ usage, incompleteReason }: RunResult, pending: Ending['pending']): Ending {
  return { usage, incompleteReason, pending }
}

function sendEnd(stream: EventStream, chunks: ChunkWriter, { text, pending }: Shown): void {
  const all = [...(text === '' ? [] : [chunks.text(text)]), ...pending.map((call) => chunks.call(call))]
  if (all.length > 0) stream.send(all.join(''))
}

/** An answer has the id of its run, so that its trace can be found. */
function nameCompletion({ id }: Pick<RunHandle, 'id'>, { model }: ChatRequest): Completion {
  return { id: `chatcmpl-${id}`, created: nowSeconds(), model }
}

/** Problem of a request that lacks what every one has; `null` counts as absent. */
function findMissing(body: unknown): HostError | undefined {
  const { model, messages } = fieldsOf(body)
  if (model == null || messages == null) {
    return badRequest('model and messages are required')
  }
  return typeof model === 'string' && Array.isArray(messages) && messages.length === 0 ? noUserMessage() : undefined
}
