import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { deferred, settlesWithin } from '../../../async.ts'
import { HostError } from '../../../errors.ts'
import type { RunEventSink } from '../../../run/run-event.ts'
import type { RunHandle, Turn } from '../../../run/turn.ts'
import type { Adapter, AdapterOptions } from '../../adapter.ts'
import { requireBearer } from '../../bearer-auth.ts'
import type { Dialect } from '../../dialect.ts'
import type { EventStream } from '../../event-streams.ts'
import { serveDialects } from '../../serve-dialects.ts'
import { startTurn, streamAnswer } from '../../serve-turn.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { type Answer, type Completion, toCompletion } from './completion.ts'
import { describeChat } from './describe-chat.ts'
import { eventToContent } from './event-to-content.ts'
import { describeModel, listDescribedModels, listModels, toModelEntry } from './models.ts'
import { ChatCompletion, ChatRequest, DescribedModelList, ModelList } from './schema.ts'
import { toTurn } from './to-turn.ts'

/** Agents as models of a chat-completions-compatible API. */
export class ChatCompatApiAdapter implements Adapter {
  readonly isOpen: boolean
  readonly #apiKey: string | undefined
  readonly #host: AdapterOptions['host']
  readonly #options: AdapterOptions['options']
  readonly #streams: AdapterOptions['streams']
  readonly #describeFailure: AdapterOptions['describeFailure']
  readonly #onWrongKey: AdapterOptions['onWrongKey']

  constructor({
    host,
    options,
    streams,
    describeFailure,
    onWrongKey,
    apiKey = process.env.COMPAT_API_KEY || undefined,
  }: AdapterOptions) {
    this.isOpen = apiKey === undefined
    this.#apiKey = apiKey
    this.#host = host
    this.#options = options
    this.#streams = streams
    this.#describeFailure = describeFailure
    this.#onWrongKey = onWrongKey
  }

  async adapt(app: FastifyInstance): Promise<void> {
    app.addHook('onRequest', requireBearer(this.#apiKey, this.#onWrongKey))
    const [options, describeFailure] = [this.#options, this.#describeFailure]
    await serveDialects(app, { options, describeFailure }, (scope, dialect) => this.#addRoutes(scope, dialect))
  }

  #addRoutes(scope: FastifyInstance, dialect: Dialect): void {
    const routes = scope.withTypeProvider<TypeBoxTypeProvider>()
    const describe = describeChat(dialect, !this.isOpen)
    this.#addModels(scope, dialect, describe)
    routes.post(
      '/chat/completions',
      {
        ...describe('createChatCompletion'),
        schema: { body: ChatRequest, response: { 200: ChatCompletion } },
        preValidation: (request, _reply, done) => done(findMissing(request.body)),
      },
      (request, reply) => this.#complete(request.body, request, reply),
    )
  }

  #addModels(scope: FastifyInstance, { isExtended }: Dialect, describe: ReturnType<typeof describeChat>): void {
    const schema = { response: { 200: isExtended ? DescribedModelList : ModelList } }
    const list = isExtended ? listDescribedModels : listModels
    scope.get('/models', { ...describe('listModels'), schema }, () => ({ object: 'list', data: list(this.#host) }))
    scope.get<{ Params: { '*': string } }>('/models/*', describe('getModel'), ({ params: { '*': name } }, reply) => {
      if (isExtended) return describeModel(this.#host, name)
      return this.#host.get(name) ? toModelEntry(name) : reply.code(404).send({ detail: 'model not found' })
    })
  }

  #complete(body: ChatRequest, request: FastifyRequest, reply: FastifyReply) {
    return body.stream ? this.#stream(body, request, reply) : this.#collect(body, reply)
  }

  async #collect(body: ChatRequest, reply: FastifyReply): Promise<ChatCompletion> {
    const answer: Answer = { text: '', reasoning: '' }
    const turn = this.#toTurn(body, (event) => {
      if (event.type === 'reasoning') answer.reasoning += event.text
      else answer.text += eventToContent(event)
    })
    const handle = startTurn(reply, this.#host, body.model, turn)
    const result = await handle.result
    return toCompletion(nameCompletion(handle, body), answer, result)
  }

  async #stream(body: ChatRequest, request: FastifyRequest, reply: FastifyReply): Promise<never> {
    let stream: EventStream | undefined
    let early = ''
    // An agent lists its tools before it does anything else: then it is known if one has the name of a client's.
    const begun = body.tools ? deferred() : undefined
    const turn = this.#toTurn(body, (event) => {
      if (event.type !== 'end') begun?.resolve()
      const chunk = chunks.write(event)
      if (chunk === '') return
      if (stream) return stream.send(chunk)
      early += chunk
    })
    // Started first: a run that is refused is still answered with its own status.
    const handle = startTurn(reply, this.#host, body.model, turn)
    const chunks = new ChunkWriter(nameCompletion(handle, body))
    const keepAliveMs = this.#options.streamingTimeout * 1000
    if (begun) await settlesWithin(Promise.race([begun.promise, handle.result]), keepAliveMs)
    return streamAnswer(request, reply, this.#streams, {
      keepAlive: () => chunks.text(''),
      keepAliveMs,
      send: async (opened) => {
        stream = opened
        stream.send(chunks.start() + early)
        const result = await handle.result
        stream.end(chunks.end(result, body.stream_options?.include_usage ?? false))
      },
      failure: (error) => chunks.failure(this.#describeFailure(error)),
    }) as never
  }

  #toTurn(body: ChatRequest, onEvent: RunEventSink): Turn {
    return toTurn(body, () => this.#host.resolve(body.model).capabilities, onEvent)
  }
}

/** An answer has the id of its run: traces tell how it came about. */
function nameCompletion({ id }: RunHandle, { model }: ChatRequest): Completion {
  return { id: `chatcmpl-${id}`, created: Math.floor(Date.now() / 1000), model }
}

/** `null` counts as absent. */
function findMissing(body: unknown): HostError | undefined {
  const { model, messages } = (body ?? {}) as { model?: unknown; messages?: unknown }
  if ((model ?? undefined) !== undefined && (messages ?? undefined) !== undefined) return undefined
  return new HostError('REQUEST_INVALID', 'model and messages are required')
}
