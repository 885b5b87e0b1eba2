import type { FastifyReply, FastifyRequest } from 'fastify'
import { RequestRepeated } from '../../../../durable/decisions/until-claimed.ts'
import type { IdempotentRequest } from '../../../../durable/idempotency/idempotent-requests.ts'
import type { DurableRun } from '../../../../durable/runs/durable-run.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { isEnd, type Step } from '../../../../durable/runs/steps.ts'
import { badRequest, type ClientCode, failureOf, HostError } from '../../../../errors.ts'
import { readIdempotencyKey } from '../../../bodies/read-idempotency-key.ts'
import { readTraceparent } from '../../../bodies/read-traceparent.ts'
import { principalOf } from '../../../guards/principal.ts'
import { deciderOf } from '../../../inbox/may-decide.ts'
import { noteAgent } from '../../../monitoring/request-log.ts'
import { VARIANT_HEADER } from '../../../named-variants.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { logFailureInside } from '../../../replies/error-replies.ts'
import { signalOfLeaving, whenClientLeaves } from '../../../streams/serve-turn.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { isTriggered } from '../compaction/compaction.ts'
import type { IgnoredParts } from '../input/ignored-parts.ts'
import { recordAfter } from '../output/output.ts'
import type { LargeReplies } from '../runs/large-replies.ts'
import { endAbandoned } from '../runs/response-run.ts'
import type { TenantParts } from '../runs/tenant-parts.ts'
import { type AskedFields, toRecord } from '../runs/to-record.ts'
import type { ResponseReplies } from './response-replies.ts'
import type { CreateRequest } from './schema.ts'

export interface CreateRouteOptions {
  readonly adapter: AdapterOptions
  readonly dialect: Dialect
  readonly ignored: IgnoredParts
  readonly large: LargeReplies
  readonly partsOf: (request: FastifyRequest) => TenantParts
}

/** `POST /responses` of one dialect: starts a response, or answers a repeated request as the first one. */
export class CreateRoute {
  readonly #adapter: AdapterOptions
  readonly #dialect: Dialect
  readonly #replies: ResponseReplies
  readonly #ignored: IgnoredParts
  readonly #large: LargeReplies
  readonly #partsOf: (request: FastifyRequest) => TenantParts

  constructor(replies: ResponseReplies, { adapter, dialect, ignored, large, partsOf }: CreateRouteOptions) {
    this.#adapter = adapter
    this.#dialect = dialect
    this.#replies = replies
    this.#ignored = ignored
    this.#large = large
    this.#partsOf = partsOf
  }

  handle(body: CreateRequest, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    // An unknown name is refused before the store is read.
    this.#adapter.host.resolve(body.model)
    noteAgent(request, body.model)
    const ignored = this.#ignored.find(body, this.#dialect, request)
    if (ignored !== undefined) reply.header('x-ignored', ignored)
    const key = readIdempotencyKey(request)
    if (key === undefined) return this.#run(body, undefined, request, reply)
    if (body.store === false) throw badRequest(NOTHING_KEPT)
    return this.#partsOf(request).runs.requests.once(
      key,
      withVariant(body, request),
      (id) => this.#replay(id, body, request, reply),
      (idempotency) => this.#runOnce(body, idempotency, request, reply),
    )
  }

  /** Forgets a request that its client is to repeat: it runs again then. */
  async #runOnce(
    body: CreateRequest,
    idempotency: IdempotentRequest,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    try {
      return await this.#run(body, idempotency, request, reply)
    } catch (error) {
      const isLimited =
        error instanceof HostError &&
        ((this.#dialect.isExtended && error.limit !== undefined) || error.code === 'QUOTA_EXHAUSTED')
      if (isLimited) await this.#partsOf(request).runs.requests.forget(idempotency)
      throw error
    }
  }

  async #run(
    body: CreateRequest,
    idempotency: IdempotentRequest | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const opening = this.#adapter.variantOf(request, body.model)
    const variant = opening && (await opening)
    const traceparent = readTraceparent(request.headers.traceparent)
    const [dialect, decider, untilClientLeaves] = [this.#dialect, deciderOf(request), () => signalOfLeaving(reply)]
    const { user } = principalOf(request)
    const circumstances = { dialect, traceparent, user, decider, variant, idempotency, untilClientLeaves }
    const { starter } = this.#partsOf(request)
    if (isTriggered(body, dialect.isExtended)) {
      return this.#show(await starter.compact(body, circumstances), body, request, reply)
    }
    if (body.background) {
      return this.#show(await starter.enqueue(body, circumstances), body, request, reply)
    }
    const run = await starter.start(body, circumstances)
    if (!body.stream) return this.#collect(run, request, reply)
    void logFailureOf(run, request)
    return this.#stream(run, request, reply)
  }

  /** Answers with a response that is stored, or has ended. */
  #show(stored: StoredRun, { stream }: CreateRequest, request: FastifyRequest, reply: FastifyReply) {
    return stream ? this.#replies.join(stored, 0, request, reply) : this.#replies.toRecord(stored)
  }

  async #collect(run: DurableRun, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    whenClientLeaves(reply, () => endAbandoned(run, () => this.#partsOf(request).runs.abandon(run)))
    let steps: readonly Step[]
    try {
      steps = await run.settled
    } catch (error) {
      // The agent has run: another attempt would run it again.
      reply.header('x-should-retry', 'false')
      throw error
    }
    if (run.failure === undefined) return recordAfter(toRecord(run.id, run.facts), steps, this.#dialect)
    if (run.isStored) reply.header('x-response-id', run.id)
    throw run.failure
  }

  async #stream(run: DurableRun, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const log = run.readAsClient()
    whenClientLeaves(reply, ({ message }) => {
      log.leave()
      endAbandoned(run, () => run.cancel(message))
    })
    await run.stored
    // An agent lists its tools before it does anything else: then it is known if one has the name of a client's.
    // The status tells a limit of the model's vendor, which the specification does not have.
    const { clientTools = [] } = run.facts.options
    const { tool_choice } = run.facts.data as AskedFields
    if (this.#dialect.isExtended || clientTools.length > 0 || typeof tool_choice === 'object')
      await run.begins(this.#adapter.options.streamingTimeout * 1000)
    return this.#replies.send(log, request, reply)
  }

  /** Answers as the first request was answered; undefined when there is nothing left of it. */
  async #replay(id: string, body: CreateRequest, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { store } = this.#partsOf(request).runs
    const read = () => this.#large.readResponse(reply, body.stream === true, id, () => store.get(id))
    const first = await read()
    const stored = first && (await this.#whenAnswered(first, body, reply, read))
    if (!stored) return undefined
    reply.header('idempotent-replayed', 'true')
    if (body.stream) return this.#replies.join(stored, 0, request, reply)
    const record = this.#replies.toRecord(stored)
    if (record.status !== 'failed' || record.background) return record
    reply.header('x-response-id', id)
    throw failureOf(record.error?.message, codeOf(stored))
  }

  /** Waits for the end of a run whose client gets all of it at once. */
  async #whenAnswered(
    first: StoredRun,
    { stream }: CreateRequest,
    reply: FastifyReply,
    read: () => Promise<StoredRun | undefined>,
  ): Promise<StoredRun | undefined> {
    if (stream || first.facts.options.background) return first
    const { runs } = this.#partsOf(reply.request)
    const log = runs.read(first, signalOfLeaving(reply))
    for (let from = 0; ; ) {
      const steps = await log.read(from)
      from += steps.length
      if (steps.length === 0 || isEnd(steps.at(-1))) return read()
    }
  }
}

const NOTHING_KEPT = 'Idempotency-Key needs store: a response that is not stored cannot be returned again'

function codeOf({ steps }: StoredRun): ClientCode | undefined {
  const end = steps.findLast(isEnd)
  return end?.code
}

/** The same body for another variant is another request. */
function withVariant(body: CreateRequest, { headers }: FastifyRequest): object {
  const variant = headers[VARIANT_HEADER]
  return variant === undefined ? body : { ...body, variant }
}

/** Logs the failure of a run whose request is answered already, or by a stream that has begun. */
async function logFailureOf(run: DurableRun, request: FastifyRequest): Promise<void> {
  try {
    await run.settled
    if (run.failure !== undefined) logFailureInside(run.failure, request)
  } catch (error) {
    if (!(error instanceof RequestRepeated)) logFailureInside(error, request)
  }
}
