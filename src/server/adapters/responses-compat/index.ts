import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DurableRuns } from '../../../durable/durable-runs.ts'
import { type IdempotentRequest, RequestRepeated } from '../../../durable/idempotency.ts'
import type { BullDelivery } from '../../../durable/queue/bull-delivery.ts'
import { openDelivery } from '../../../durable/queue/open-delivery.ts'
import type { QueuePoller } from '../../../durable/queue/queue-poller.ts'
import { RunWorker } from '../../../durable/queue/run-worker.ts'
import type { StepLog } from '../../../durable/runs/read-run.ts'
import { RunIds } from '../../../durable/runs/run-ids.ts'
import type { StoredRun } from '../../../durable/runs/run-store.ts'
import { isEnd, type Step } from '../../../durable/runs/steps.ts'
import { HostError } from '../../../errors.ts'
import type { Adapter, InboxAdapterOptions } from '../../adapter.ts'
import { liftDataUrls } from '../../bodies/lift-data-urls.ts'
import { deciderOf } from '../../guards/decisions.ts'
import { principalOf } from '../../guards/principal.ts'
import { type Dialect, dialectOf } from '../../replies/dialect.ts'
import { logFailure, replyFor } from '../../replies/error-replies.ts'
import { serveDialects } from '../../replies/serve-dialects.ts'
import { streamAnswer, whenClientLeaves } from '../../streams/serve-turn.ts'
import { acceptUpgrade, isUpgrade, routeUpgrades } from '../../streams/upgrade-route.ts'
import { RESPONSE_PREFIX } from './ids.ts'
import { findMissing } from './input/find-missing.ts'
import { resumeByApproval } from './input/resume-by-approval.ts'
import { EventWriter, eventStreamOf } from './output/event-writer.ts'
import { recordAfter } from './output/output.ts'
import { sendSteps } from './output/send-steps.ts'
import { addApprovalRoutes } from './routes/approval-routes.ts'
import { addConversationRoutes } from './routes/conversation-routes.ts'
import { describeResponses } from './routes/describe-responses.ts'
import { type ExtendedRecord, toExtendedPayload } from './routes/extended-record.ts'
import { listInputItems, listResponseIds, toPage } from './routes/pages.ts'
import { type Query, readBoolean, readInteger, readPageQuery } from './routes/read-query.ts'
import { ResponseSocket } from './routes/response-socket.ts'
import {
  type Compaction,
  CompactRequest,
  CreateRequest,
  ExtendedCreateRequest,
  type InputItem,
  type ResponseRecord,
} from './routes/schema.ts'
import { describeNext } from './runs/next-response.ts'
import { readRowV1 } from './runs/read-v1-row.ts'
import { CLIENT_LEFT, type ResponseRun, survivesDisconnect } from './runs/response-run.ts'
import { StoredInbox } from './runs/stored-inbox.ts'
import { makeTenantParts, type TenantParts } from './runs/tenant-parts.ts'
import { openUnstoredMemory } from './runs/unstored-responses.ts'

type Stored = StoredRun<ResponseRecord, InputItem>

/** Route with an id in its path. */
interface ById {
  Params: { id: string }
  Querystring: Query
}

/** Agents behind a responses-compatible API: every answer is stored, can be continued, left and joined again. */
export class ResponsesCompatApiAdapter implements Adapter {
  readonly isOpen: boolean | undefined
  readonly gauges = [
    {
      name: 'agent_host_queue_depth',
      help: 'Background responses that wait, of all servers that share the store.',
      read: () => this.#runs.queue.size(),
    },
    {
      name: 'agent_host_queue_oldest_seconds',
      help: 'Time for which the oldest of them has waited; 0 when none does.',
      read: () => this.#runs.queue.oldestSeconds(),
    },
  ]
  readonly #options: InboxAdapterOptions
  readonly #ids = new RunIds(RESPONSE_PREFIX)
  readonly #unstored = openUnstoredMemory()
  /** Opened when the server is ready. */
  #runs!: DurableRuns<ResponseRecord, InputItem>
  readonly #tenants = new Map<string, TenantParts>()
  /** Delivers queued runs to the worker of this process. */
  #delivery!: QueuePoller | BullDelivery

  constructor(options: InboxAdapterOptions) {
    this.#options = options
    // A worker serves no routes.
    this.isOpen = options.options.workerOnly ? false : undefined
  }

  async adapt(app: FastifyInstance): Promise<void> {
    // The thread of the store starts while routes are added.
    const opening = this.#open()
    const isOpen = opening.then(
      () => true,
      () => false,
    )
    app.addHook('onReady', () => opening.then(() => this.#startWork()))
    app.addHook('preClose', async () => {
      if (!(await isOpen)) return
      await this.#delivery.stop()
      await this.#runs.settle()
    })
    app.addHook('onClose', async () => {
      if (await isOpen) await this.#runs.close()
    })
    if (this.#options.options.workerOnly) return
    await serveDialects(app, this.#options, (scope, dialect) => this.#addRoutes(scope, dialect))
  }

  #addRoutes(scope: FastifyInstance, dialect: Dialect): void {
    const describe = describeResponses(dialect, this.#options.requiresKey)
    if (dialect.isExtended) {
      scope.addHook('preSerialization', (_request, _reply, payload, done) => done(null, toExtendedPayload(payload)))
    }
    const typed = scope.withTypeProvider<TypeBoxTypeProvider>()
    typed.post(
      '/responses',
      {
        ...describe('createResponse'),
        ...liftDataUrls(),
        schema: { body: dialect.isExtended ? ExtendedCreateRequest : CreateRequest },
        preValidation: (request, _reply, done) => done(findMissing(request.body)),
      },
      (request, reply) => this.#create(resumeByApproval(request.body), request, reply),
    )
    typed.post(
      '/responses/compact',
      { ...describe('compactResponse'), schema: { body: CompactRequest } },
      (request, reply) => this.#compact(request.body, request, reply),
    )
    // Without a route of its own it would be the id of a response.
    scope.post('/responses/input_tokens', { schema: { hide: true } as object }, async () => {
      throw Object.assign(new Error('Tokens are counted while an agent runs, and reported as usage'), {
        statusCode: 404,
      })
    })
    scope.get<ById>('/responses/:id', describe('getResponse'), (request, reply) => this.#get(request, reply))
    scope.delete<ById>('/responses/:id', describe('deleteResponse'), (request) => this.#delete(request))
    scope.post<ById>('/responses/:id/cancel', describe('cancelResponse'), (request) => this.#cancel(request))
    scope.get<ById>('/responses/:id/input_items', describe('listInputItems'), (request) => this.#listItems(request))
    const partsOf = (request: FastifyRequest) => this.#partsOf(request)
    addApprovalRoutes(scope, { partsOf, describe })
    addConversationRoutes(scope, { partsOf, describe })
    if (dialect.isExtended) routeUpgrades(scope)
    // Without a key anybody could read everybody's responses.
    if (this.#options.requiresKey) {
      scope.get<ById>('/responses', describe('listResponses'), async (request, reply) =>
        isUpgrade(request) && dialect.isExtended ? this.#openSocket(request, reply) : this.#list(request, reply),
      )
    } else if (dialect.isExtended) {
      scope.get('/responses', { schema: { hide: true } as object }, async (request, reply) => {
        if (isUpgrade(request)) return this.#openSocket(request, reply)
        reply.header('upgrade', 'websocket')
        throw Object.assign(new Error('Upgrade to a WebSocket, or send POST'), { statusCode: 426 })
      })
    }
  }

  async checkReady(): Promise<void> {
    await this.#runs.store.has('probe')
  }

  async #open(): Promise<void> {
    const { log, options } = this.#options
    const { retentionDays, maxQueuedRuns } = options
    const records = await this.#options.openRecords()
    const [ids, { host, describeFailure }] = [this.#ids, this.#options]
    const runs = await DurableRuns.open<ResponseRecord, InputItem>({
      ...{ records, ids, retentionDays, maxQueuedRuns, log, upgradeRow: readRowV1 },
      describeNext: ({ tenant }, ...waiting) => describeNext({ ...this.#partsOfTenant(tenant), ids, host }, ...waiting),
    })
    this.#runs = runs
    this.#options.inboxSlot.inboxOf = (tenant) => new StoredInbox({ runs: runs.of(tenant), ids, host })
    const onFailure = (error: unknown, id = 'the queue') => logFailure(error, { id, log })
    const worker = new RunWorker({ runs, host, describeFailure, onFailure })
    this.#delivery = await openDelivery(runs.queue, worker, options)
  }

  #partsOf(request: FastifyRequest): TenantParts {
    return this.#partsOfTenant(principalOf(request).tenant)
  }

  #partsOfTenant(tenant: string): TenantParts {
    const known = this.#tenants.get(tenant)
    if (known) return known
    const { host, describeFailure, options: limits } = this.#options
    const parts = makeTenantParts(this.#runs.of(tenant), { ids: this.#ids, host, limits, describeFailure })
    this.#tenants.set(tenant, parts)
    return parts
  }

  #startWork(): void {
    if (!this.#options.options.noWorker) this.#delivery.start()
  }

  #create(body: CreateRequest, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    // An unknown name is refused before the store is read.
    this.#options.host.resolve(body.model)
    const key = readIdempotencyKey(request, body)
    if (key === undefined) return this.#run(body, undefined, request, reply)
    return this.#partsOf(request).runs.requests.once(
      ofSender(request, key),
      body,
      (id) => this.#replay(id, body, request, reply),
      (idempotency) => this.#run(body, idempotency, request, reply),
    )
  }

  async #run(
    body: CreateRequest,
    idempotency: IdempotentRequest | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const circumstances = { dialect: this.#dialectOf(reply), decider: deciderOf(request), idempotency }
    const { starter } = this.#partsOf(request)
    if (body.background) {
      const queued = await starter.enqueue(body, circumstances)
      return body.stream ? this.#join(queued, 0, request, reply) : this.#toRecord(queued, reply)
    }
    const run = await starter.start(body, circumstances)
    if (!body.stream) return this.#collect(run, request, reply)
    void logFailureOf(run, request)
    return this.#stream(run, request, reply)
  }

  /** The record as it is now; `queued` is a status of one dialect alone. */
  #toRecord({ facts, steps, isQueued }: Stored, reply: FastifyReply): ExtendedRecord {
    const record = recordAfter(facts, steps)
    return isQueued && this.#dialectOf(reply).isExtended ? { ...record, status: 'queued' } : record
  }

  async #compact(body: CompactRequest, request: FastifyRequest, reply: FastifyReply): Promise<Compaction> {
    const leaving = new AbortController()
    whenClientLeaves(reply, (reason) => leaving.abort(reason))
    return this.#partsOf(request).compactor.compact(body, leaving.signal)
  }

  async #openSocket(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { options, host, streams, describeFailure } = this.#options
    const limits = { origins: options.corsOrigins, maxPayload: options.bodyLimit }
    const { starter } = this.#partsOf(request)
    const parts = { starter, options, host, streams, describeFailure, unstored: this.#unstored }
    await acceptUpgrade(request, reply, limits, (socket) => void new ResponseSocket(socket, request, parts))
    return reply
  }

  async #collect(run: ResponseRun, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    whenClientLeaves(reply, () => {
      // The store is down: maintenance ends abandoned runs.
      if (!survivesDisconnect(run) && !run.breakOff(CLIENT_LEFT)) {
        const { runs } = this.#partsOf(request)
        void runs.abandon(run).catch(() => {})
      }
    })
    let steps: readonly Step[]
    try {
      steps = await run.settled
    } catch (error) {
      // The agent has run: another attempt would run it again.
      reply.header('x-should-retry', 'false')
      throw error
    }
    if (run.failure === undefined) return recordAfter(run.facts, steps)
    if (run.isStored) reply.header('x-response-id', run.id)
    throw run.failure
  }

  async #stream(run: ResponseRun, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const log = run.readAsClient()
    whenClientLeaves(reply, ({ message }) => {
      log.leave()
      if (!survivesDisconnect(run) && !run.breakOff(CLIENT_LEFT)) void run.cancel(message).catch(() => {})
    })
    await run.stored
    // An agent lists its tools before it does anything else: then it is known if one has the name of a client's.
    if (run.facts.tools.length > 0) await run.begins(this.#options.options.streamingTimeout * 1000)
    return this.#sendSteps(log, 0, request, reply)
  }

  #dialectOf({ request }: FastifyReply): Dialect {
    return dialectOf(request.url, this.#options.options)
  }

  /** @param after number of the last event that the client has */
  #sendSteps(
    log: StepLog<ResponseRecord>,
    after: number,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const writer = new EventWriter(log.facts, after, eventStreamOf(this.#dialectOf(reply)))
    return streamAnswer(request, reply, this.#options.streams, {
      keepAlive: () => ': keep-alive\n\n',
      keepAliveMs: this.#options.options.streamingTimeout * 1000,
      send: (stream) => sendSteps(log, writer, stream),
      failure: (error) => writer.failure(replyFor(error as Error, this.#options.describeFailure).detail),
    })
  }

  /** Answers as the first request was answered; undefined when there is nothing left of it. */
  async #replay(id: string, body: CreateRequest, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const first = await this.#partsOf(request).runs.store.get(id)
    const stored = first && (await this.#whenAnswered(first, body, reply))
    if (!stored) return undefined
    reply.header('idempotent-replayed', 'true')
    if (body.stream) return this.#join(stored, 0, request, reply)
    const record = this.#toRecord(stored, reply)
    if (record.status !== 'failed' || record.background) return record
    reply.header('x-response-id', id)
    throw new HostError('AGENT_FAILED', record.error?.message ?? 'Agent execution failed')
  }

  /** Waits for the end of a run whose client gets all of it at once. */
  async #whenAnswered(first: Stored, { stream }: CreateRequest, reply: FastifyReply): Promise<Stored | undefined> {
    if (stream || first.facts.background) return first
    const leaving = new AbortController()
    whenClientLeaves(reply, (reason) => leaving.abort(reason))
    const { runs } = this.#partsOf(reply.request)
    const log = runs.read(first, leaving.signal)
    for (let from = 0; ; ) {
      const steps = await log.read(from)
      from += steps.length
      if (steps.length === 0 || isEnd(steps.at(-1))) return runs.store.get(first.id)
    }
  }

  async #get(request: FastifyRequest<ById>, reply: FastifyReply): Promise<unknown> {
    const { query } = request
    const isStream = readBoolean(query, 'stream')
    const after = readInteger(query, 'starting_after', { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0
    const stored = await this.#find(request)
    return isStream ? this.#join(stored, after, request, reply) : this.#toRecord(stored, reply)
  }

  /** Sends the events again, and then those that come. */
  #join(stored: Stored, after: number, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const leaving = new AbortController()
    whenClientLeaves(reply, (reason) => leaving.abort(reason))
    const { runs } = this.#partsOf(request)
    return this.#sendSteps(runs.read(stored, leaving.signal), after, request, reply)
  }

  async #delete(request: FastifyRequest<ById>): Promise<unknown> {
    const { id } = request.params
    if (!this.#ids.isId(id) || !(await this.#partsOf(request).runs.delete(id))) throw notFound()
    return { id, object: 'response', deleted: true }
  }

  async #cancel(request: FastifyRequest<ById>): Promise<ResponseRecord> {
    const { id, facts } = await this.#find(request)
    if (!facts.background) throw new HostError('REQUEST_INVALID', 'Only background responses can be cancelled')
    const cancelled = await this.#partsOf(request).runs.cancel(id)
    if (!cancelled) throw notFound()
    return recordAfter(cancelled.facts, cancelled.steps)
  }

  async #listItems(request: FastifyRequest<ById>): Promise<unknown> {
    const page = readPageQuery(request.query)
    return listInputItems(this.#partsOf(request).runs.store, await this.#find(request), page)
  }

  async #list(request: FastifyRequest<ById>, reply: FastifyReply): Promise<unknown> {
    const { store, unreadable } = this.#partsOf(request).runs
    const { ids, hasMore } = await listResponseIds(store, this.#ids, readPageQuery(request.query))
    const found = await Promise.all(ids.map((id) => unreadable.read(() => store.get(id))))
    return toPage(
      found.flatMap((stored) => (stored ? [this.#toRecord(stored, reply)] : [])),
      hasMore,
    )
  }

  async #find(request: FastifyRequest<ById>): Promise<Stored> {
    const { id } = request.params
    const stored = this.#ids.isId(id) ? await this.#partsOf(request).runs.store.get(id) : undefined
    if (!stored) throw notFound()
    return stored
  }
}

/** Logs the failure of a run whose request is answered already. */
async function logFailureOf(run: ResponseRun, request: FastifyRequest): Promise<void> {
  try {
    await run.settled
    if (run.failure !== undefined) logFailure(run.failure, request)
  } catch (error) {
    if (!(error instanceof RequestRepeated)) logFailure(error, request)
  }
}

function notFound(): HostError {
  return new HostError('RESPONSE_NOT_FOUND', 'Response not found')
}

/** Two holders of keys may choose the same text. A header holds no NUL. */
function ofSender(request: FastifyRequest, key: string): string {
  const { tenant, name } = principalOf(request)
  return tenant === '' && name === undefined ? key : [tenant, name ?? '', key].join('\0')
}

function readIdempotencyKey({ headers }: FastifyRequest, { store }: CreateRequest): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > 255) {
    throw new HostError('REQUEST_INVALID', 'Idempotency-Key must have 1 to 255 characters')
  }
  if (store === false) {
    throw new HostError(
      'REQUEST_INVALID',
      'Idempotency-Key needs store: a response that is not stored cannot be returned again',
    )
  }
  return key
}
