import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HostError } from '../../../errors.ts'
import type { Message } from '../../../protocols/message.ts'
import { openStore } from '../../../store/open-store.ts'
import type { Adapter, AdapterOptions } from '../../adapter.ts'
import { requireBearer } from '../../bearer-auth.ts'
import { logFailure } from '../../error-replies.ts'
import type { EventStream } from '../../event-streams.ts'
import type { Conversation } from './conversations.ts'
import { beginRecord, toInputItems, toMessages } from './convert.ts'
import { type IdempotentRequest, IdempotentRequests } from './idempotency.ts'
import { findItem, isResponseId, ResponseIds } from './ids.ts'
import { listInputItems, listResponseIds, toPage } from './pages.ts'
import { type Query, readBoolean, readInteger, readPageQuery } from './read-query.ts'
import { RequestRepeated, ResponseRun, type StepLog } from './response-run.ts'
import { type Draft, draftTurn, ResponseStore, type Stored } from './response-store.ts'
import { CreateRequest, type InputItem, type ResponseRecord } from './schema.ts'
import { sendSteps, storedLog } from './send-steps.ts'
import { Upkeep } from './upkeep.ts'

/** What a request with an id in its path has. */
interface ById {
  Params: { id: string }
  Querystring: Query
}

/** Agents behind a responses-compatible API: every answer is stored, can be continued, left and joined again. */
export class ResponsesCompatApiAdapter implements Adapter {
  readonly isOpen: boolean
  readonly #options: AdapterOptions
  readonly #ids = new ResponseIds()
  /** What runs in this process. */
  readonly #runs = new Map<string, ResponseRun>()
  /** Opened by {@link adapt}. */
  #store!: ResponseStore
  #requests!: IdempotentRequests
  #upkeep!: Upkeep

  constructor(options: AdapterOptions) {
    this.#options = options
    this.isOpen = options.apiKey === undefined
  }

  async adapt(app: FastifyInstance): Promise<void> {
    await this.#open()
    app.addHook('preClose', () => this.#settle())
    app.addHook('onClose', () => this.#close())
    app.addHook('onRequest', requireBearer(this.#options.apiKey))
    app
      .withTypeProvider<TypeBoxTypeProvider>()
      .post(
        '/compat/responses',
        { schema: { body: CreateRequest }, preValidation: (request, _reply, done) => done(findMissing(request.body)) },
        (request, reply) => this.#create(request.body, request, reply),
      )
    app.get<ById>('/compat/responses/:id', (request, reply) => this.#get(request, reply))
    app.delete<ById>('/compat/responses/:id', ({ params }) => this.#delete(params.id))
    app.post<ById>('/compat/responses/:id/cancel', ({ params }) => this.#cancel(params.id))
    app.get<ById>('/compat/responses/:id/input_items', ({ params, query }) => this.#listItems(params.id, query))
    // Without a key anybody could read what everybody said.
    if (!this.isOpen) app.get<ById>('/compat/responses', ({ query }) => this.#list(query))
  }

  async #open(): Promise<void> {
    const { store, responsesDir: dir, projectDir, retentionDays } = this.#options.options
    const records = await openStore({ store, dir, projectDir })
    this.#store = new ResponseStore(records)
    this.#requests = new IdempotentRequests(records)
    const { log } = this.#options
    this.#upkeep = new Upkeep({ store: this.#store, requests: this.#requests, runs: this.#runs, retentionDays, log })
    await this.#upkeep.start()
  }

  /** What has ended by now is stored before connections are closed. */
  async #settle(): Promise<void> {
    await Promise.allSettled([...this.#runs.values()].map(({ settled }) => settled))
  }

  async #close(): Promise<void> {
    await this.#upkeep.stop()
    await this.#settle()
    await this.#store.records.close()
  }

  async #create(body: CreateRequest, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    // An unknown name is told before the store is asked.
    this.#options.host.resolve(body.model)
    const key = readIdempotencyKey(request, body)
    if (key === undefined) return this.#run(body, undefined, request, reply)
    for (;;) {
      const found = await this.#requests.find(key, body)
      if ('responseId' in found) {
        const replayed = await this.#replay(found.responseId, body, reply)
        if (replayed) return replayed
        // It was deleted just now, and its key with it.
        continue
      }
      try {
        return await this.#run(body, found.request, request, reply)
      } catch (error) {
        // Another server was quicker with the same request.
        if (!(error instanceof RequestRepeated)) throw error
      } finally {
        found.release()
      }
    }
  }

  async #run(
    body: CreateRequest,
    idempotency: IdempotentRequest | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const { draft, messages } = await this.#draft(body, idempotency)
    const { record } = draft
    const isLive = record.background || body.stream === true
    if (record.background && !record.store) {
      throw new HostError('REQUEST_INVALID', 'background needs store: a response that is not stored cannot be fetched')
    }
    const run = new ResponseRun({
      draft,
      store: record.store ? this.#store : undefined,
      persistsSteps: isLive,
      tellsCalls: body.include?.includes('agent.tool_calls') ?? false,
      describeFailure: this.#options.describeFailure,
    })
    const { instructions, user, metadata } = body
    run.start(this.#options.host, body.model, {
      messages,
      instructions: instructions ?? undefined,
      user: user ?? undefined,
      metadata: metadata ?? undefined,
    })
    this.#runs.set(run.id, run)
    void this.#whenSettled(run, isLive ? request : undefined)
    if (body.stream) return this.#stream(run, reply)
    if (record.background) {
      await run.stored
      return run.begun
    }
    return this.#collect(run, reply)
  }

  async #draft(body: CreateRequest, idempotency: IdempotentRequest | undefined) {
    const { previous_response_id } = body
    const createdAt = Math.floor(Date.now() / 1000)
    const record = beginRecord(body, this.#ids.next(), createdAt)
    const items = toInputItems(body.input, record.id, createdAt)
    const own = toMessages(await this.#resolveReferences(items))
    const conversation =
      typeof previous_response_id === 'string' ? await this.#continue(previous_response_id) : undefined
    const earlier = conversation?.messages ?? []
    const draft: Draft = { record, items, turn: draftTurn(record, own, conversation), earlier, idempotency }
    return { draft, messages: [...earlier, ...own] satisfies Message[] }
  }

  async #continue(id: string): Promise<Conversation> {
    const { record } = await this.#find(id)
    if (record.status === 'in_progress') {
      throw new HostError('RESPONSE_CONFLICT', 'Response is still in progress')
    }
    const conversation = await this.#store.conversation(id)
    if (!conversation) throw notFound()
    return conversation
  }

  /** Clients name messages that are stored here instead of sending them again. What is not found is left out. */
  async #resolveReferences(items: readonly InputItem[]): Promise<InputItem[]> {
    const resolved = items.map(async (item) => {
      const { type, reference } = item as InputItem & { reference?: string }
      return type === 'item_reference' && reference !== undefined ? await this.#findItem(reference) : item
    })
    return (await Promise.all(resolved)).filter((item) => item !== undefined)
  }

  async #findItem(itemId: string): Promise<InputItem | undefined> {
    const place = findItem(itemId)
    const stored = place && (await this.#store.get(place.responseId))
    if (!stored) return undefined
    const { responseId, list, index } = place
    if (list === 'input') return (await this.#store.items(responseId, stored, index, index + 1))[0]
    const item = stored.record.output[index]
    return item?.type === 'message' ? { ...item, created_at: stored.record.created_at } : undefined
  }

  /** @param request that is answered already, so that what goes wrong can only be logged */
  async #whenSettled(run: ResponseRun, request: FastifyRequest | undefined): Promise<void> {
    try {
      await run.settled
      if (request && run.failure !== undefined) logFailure(run.failure, request)
    } catch (error) {
      if (error instanceof RequestRepeated) return
      if (request) logFailure(error, request)
      const failed = {
        end: 'failed',
        at: Math.floor(Date.now() / 1000),
        error: 'The response could not be stored',
      } as const
      if (run.isStored) this.#upkeep.endLater(run.id, failed)
    } finally {
      this.#runs.delete(run.id)
    }
  }

  async #collect(run: ResponseRun, reply: FastifyReply): Promise<unknown> {
    const { raw } = reply
    if (!survivesDisconnect(run)) {
      raw.once('close', () => {
        if (!raw.writableFinished) run.abandon('The client has left.')
      })
    }
    const record = await run.settled.catch((error: unknown) => {
      // The agent has run: another attempt would run it again.
      reply.header('x-should-retry', 'false')
      throw error
    })
    if (run.failure === undefined) return record
    if (record.store) reply.header('x-response-id', run.id)
    throw run.failure
  }

  async #stream(run: ResponseRun, reply: FastifyReply): Promise<unknown> {
    if (run.begun.store) await run.stored
    const log = run.readAsClient()
    const stream = this.#openStream(reply, () => {
      log.leave()
      if (!survivesDisconnect(run)) void run.cancel('The client has left.').catch(() => {})
    })
    await sendSteps(log, stream)
    return reply
  }

  #openStream(reply: FastifyReply, onLeave: () => void): EventStream {
    return this.#options.streams.open(reply, {
      keepAlive: () => ': keep-alive\n\n',
      keepAliveMs: this.#options.options.streamingTimeout * 1000,
      onLeave,
    })
  }

  /** Answers as the first request was answered; undefined when there is nothing left of it. */
  async #replay(id: string, body: CreateRequest, reply: FastifyReply): Promise<unknown> {
    const run = this.#runs.get(id)
    if (run && !body.stream && !run.begun.background) await run.settled.catch(() => {})
    const stored = await this.#store.get(id)
    if (!stored) return undefined
    reply.header('idempotent-replayed', 'true')
    if (body.stream) return this.#join(id, stored, 0, reply)
    const { record } = stored
    if (record.status !== 'failed' || record.background) return record
    reply.header('x-response-id', id)
    throw new HostError('AGENT_FAILED', record.error?.message ?? 'Agent execution failed')
  }

  async #get({ params: { id }, query }: FastifyRequest<ById>, reply: FastifyReply): Promise<unknown> {
    const isStream = readBoolean(query, 'stream')
    const after = readInteger(query, 'starting_after', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0
    const stored = await this.#find(id)
    return isStream ? this.#join(id, stored, after, reply) : stored.record
  }

  /** Sends the events again, and then those that come. */
  async #join(id: string, stored: Stored, after: number, reply: FastifyReply): Promise<unknown> {
    const leaving = new AbortController()
    const log: StepLog = this.#runs.get(id) ?? storedLog(this.#store, id, stored, leaving.signal)
    const stream = this.#openStream(reply, () => leaving.abort())
    await sendSteps(log, stream, after)
    return reply
  }

  async #delete(id: string): Promise<unknown> {
    const run = this.#runs.get(id)
    if (run?.isStored) await run.cancel('The response was deleted.').catch(() => {})
    if (!isResponseId(id) || !(await this.#store.delete(id))) throw notFound()
    return { id, object: 'response', deleted: true }
  }

  async #cancel(id: string): Promise<ResponseRecord> {
    const { record } = await this.#find(id)
    if (!record.background) throw new HostError('REQUEST_INVALID', 'Only background responses can be cancelled')
    const ended = await this.#runs.get(id)?.cancel('The response was cancelled.')
    if ((ended ?? record).status === 'cancelled') return ended ?? record
    const cancelled = await this.#store.end(id, { end: 'cancelled', at: Math.floor(Date.now() / 1000) })
    if (!cancelled) throw notFound()
    return cancelled
  }

  async #listItems(id: string, query: Query): Promise<unknown> {
    const page = readPageQuery(query)
    return listInputItems(this.#store, id, await this.#find(id), page)
  }

  async #list(query: Query): Promise<unknown> {
    const { ids, hasMore } = await listResponseIds(this.#store.records, readPageQuery(query))
    const found = await Promise.all(ids.map((id) => this.#store.get(id)))
    return toPage(
      found.flatMap((stored) => (stored ? [stored.record] : [])),
      hasMore,
    )
  }

  async #find(id: string): Promise<Stored> {
    const stored = isResponseId(id) ? await this.#store.get(id) : undefined
    if (!stored) throw notFound()
    return stored
  }
}

function notFound(): HostError {
  return new HostError('RESPONSE_NOT_FOUND', 'Response not found')
}

/** `null` counts as absent, and so does what is empty. */
function findMissing(body: unknown): HostError | undefined {
  const { model, input } = (body ?? {}) as { model?: unknown; input?: unknown }
  const isEmpty = (value: unknown) => (value ?? '') === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty(model) || isEmpty(input) ? new HostError('REQUEST_INVALID', 'input and model are required') : undefined
}

function readIdempotencyKey({ headers }: FastifyRequest, { store }: CreateRequest): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > 255) {
    throw new HostError('REQUEST_INVALID', 'Idempotency-Key must have 1 to 255 characters')
  }
  if (store === false) {
    throw new HostError('REQUEST_INVALID', 'Idempotency-Key needs store: what is not stored cannot be given again')
  }
  return key
}

/** Whether the agent goes on when the client that it answers has left. */
function survivesDisconnect({ begun: { background, metadata } }: ResponseRun): boolean {
  return background || metadata.on_disconnect === 'continue'
}
