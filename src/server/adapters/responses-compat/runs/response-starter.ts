import { joinDecisions } from '../../../../durable/approvals/join-decisions.ts'
import { joinClaims } from '../../../../durable/claim.ts'
import { makeTurn } from '../../../../durable/conversations/conversation-tree.ts'
import { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import { truncate } from '../../../../durable/conversations/truncate.ts'
import { type IdempotentRequest, RequestRepeated } from '../../../../durable/idempotency.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { Draft } from '../../../../durable/runs/run-row.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { nowSeconds } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import { type PendingAnswer, type PendingCall, toolCallOf } from '../../../../run/state/pending-call.ts'
import type { Turn } from '../../../../run/turn.ts'
import type { AdapterOptions } from '../../../adapter.ts'
import type { Decider } from '../../../guards/decisions.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import { mergeTools } from '../input/client-tools.ts'
import { continueConversation } from '../input/continue.ts'
import { beginRecord, toInputItems } from '../input/convert.ts'
import type { EarlierTurns } from '../input/earlier-turns.ts'
import { ItemReferences, isReference } from '../input/item-references.ts'
import { isSealed } from '../input/sealed-items.ts'
import { toJob } from '../input/to-job.ts'
import { readInput } from '../input/to-messages.ts'
import { toTurn } from '../input/to-turn.ts'
import type { CreateRequest, InputItem, ResponseRecord } from '../routes/schema.ts'
import type { ResponseRun } from './response-run.ts'
import type { ResponseRuns } from './response-runs.ts'
import type { UnstoredResponses } from './unstored-responses.ts'

export interface ResponseStarterOptions extends Pick<AdapterOptions, 'host' | 'describeFailure'> {
  readonly limits: AdapterOptions['options']
  readonly runs: ResponseRuns
  readonly earlier: EarlierTurns
  readonly ids: RunIds
}

/** Circumstances of a request. */
export interface StartOptions {
  readonly dialect: Dialect
  /** Trace context of the request. */
  readonly traceparent?: string | undefined
  /** Client, for decisions that it makes. */
  readonly decider: Decider
  /** Of the agent, where the request names one. */
  readonly variant?: Turn['variant']
  readonly idempotency?: IdempotentRequest | undefined
  /** Responses that only the client's connection knows, for those that continue them. */
  readonly unstored?: UnstoredResponses
}

const NO_TOOLS = Object.freeze([])

/** Number of attempts to add a response to a conversation while others change it. */
const MAX_ATTEMPTS = 10

/** Starts the run that answers a request, wherever the request came from. */
export class ResponseStarter {
  readonly #options: ResponseStarterOptions

  constructor(options: ResponseStarterOptions) {
    this.#options = options
  }

  /**
   * Starts a run of this process.
   *
   * @throws HostError for a request that cannot be served, before its agent runs
   * @throws RequestRepeated when another request with the same idempotency key was quicker
   */
  start(body: CreateRequest, options: StartOptions): Promise<ResponseRun> {
    return startRepeatedly(options, () => this.#start(body, options))
  }

  /**
   * Stores a background run for a worker: of this server, or another.
   *
   * @throws as {@link ResponseStarter.start}
   */
  enqueue(body: CreateRequest, options: StartOptions): Promise<StoredRun<ResponseRecord, InputItem>> {
    return startRepeatedly(options, () => this.#enqueue(body, options))
  }

  async #enqueue(body: CreateRequest, options: StartOptions): Promise<StoredRun<ResponseRecord, InputItem>> {
    const { runs, host } = this.#options
    const { draft, turn } = await this.#draft(body, options)
    host.check(body.model, turn)
    return runs.enqueue(draft, toJob(body, turn, host.resolve(body.model).agent))
  }

  async #start(body: CreateRequest, options: StartOptions): Promise<ResponseRun> {
    const { runs, host, describeFailure } = this.#options
    const { draft, turn } = await this.#draft(body, options)
    const { store } = draft.facts
    const { unstored } = options
    const { agent } = host.resolve(body.model)
    const job = toJob(body, turn, agent)
    const run = await runs.start(host, body.model, turn, {
      origin: draft,
      store: store ? runs.store : undefined,
      keepsOutcome: unstored !== undefined,
      persistsSteps: body.stream === true,
      job,
      describeFailure,
      seal: job.sealsReasoning ? await runs.sealReasoning(agent.id) : undefined,
    })
    if (!store) unstored?.add(run, draft)
    return run
  }

  async #draft(body: CreateRequest, { dialect, traceparent, decider, variant, idempotency, unstored }: StartOptions) {
    refuseContradictions(body)
    const { runs, ids, limits, host } = this.#options
    const createdAt = nowSeconds()
    const record = beginRecord(body, ids.next(), createdAt)
    const { id } = record
    const items = toInputItems(body.input, id, createdAt)
    const budget = new HistoryBudget(limits)
    const resolved = items.some(isReference) ? await new ItemReferences(runs, budget).resolve(items) : items
    if (isTruncated(body)) budget.takeItems(resolved.length, 0)
    else budget.addItems(resolved.length, 0)
    const unsealing = resolved.some(isSealed)
      ? { reasoning: await runs.unsealReasoning(host.resolve(body.model).agent.id) }
      : undefined
    const input = readInput(resolved, 'input', unsealing)
    const { conversation, named, isUnstored } = await this.#options.earlier.read(body, { budget, unstored })
    const { messages, answers: given, pending } = continueConversation(input, conversation)
    const earlier = conversation?.messages ?? []
    const seen = this.#truncate([...earlier, ...messages], body, pending)
    const added = mergeTools(conversation?.last.tools ?? NO_TOOLS, input.added?.tools ?? NO_TOOLS)
    const asked = toTurn(host, {
      runId: ids.uuidOf(id),
      tenant: runs.tenant,
      body,
      variant,
      added,
      messages: seen,
      dialect,
      traceparent,
    })
    requireMayAnswer(given, conversation?.last.pending ?? [], decider)
    const decided = conversation && !isUnstored ? conversation.last : undefined
    const joined =
      decided &&
      (await joinDecisions(runs.approvals, decided, { answers: given, agent: body.model, id, by: decider.by }))
    const { answers = given, claim, resumes } = joined ?? {}
    const made = makeTurn(id, createdAt, messages, conversation?.last, pending)
    const stored = added.length > 0 ? { ...made, tools: added } : made
    const draft: Draft<ResponseRecord, InputItem> = {
      id,
      facts: record,
      items,
      turn: named ? { ...stored, conversation: named.id } : stored,
      earlier,
      idempotency,
      claim: joinClaims(claim, named && runs.conversations.claim(named, id)),
      resumes,
    }
    const isTrailLost = body.store === false && !unstored
    // Spread last: in Node 20, adding properties after a spread takes microseconds.
    const turn: Turn = { answers, pending, isTrailLost, ...asked }
    if (!joined?.answers || variant) return { draft, turn }
    return {
      draft,
      turn: { ...turn, variant: await this.#variantOfWaiting(conversation?.last.response_id, body.model) },
    }
  }

  /** A decision continues the variant that waits, whoever sends it. */
  async #variantOfWaiting(id = '', name: string): Promise<Turn['variant']> {
    const { runs, host } = this.#options
    const variant = (await runs.store.readJob(id))?.options.variant
    if (variant) await host.openVariant(name, variant)
    return variant
  }

  #truncate(messages: Turn['messages'], body: CreateRequest, pending: NonNullable<Turn['pending']>): Turn['messages'] {
    if (!isTruncated(body)) return messages
    const open = pending.map(toolCallOf)
    return truncate(messages, new HistoryBudget(this.#options.limits), open)
  }
}

/**
 * Checks the sender of answers that decide, and of a plain message that rejects what is open.
 *
 * @throws HostError `KEY_FORBIDDEN`, `ORIGIN_FORBIDDEN`
 */
function requireMayAnswer(
  answers: readonly PendingAnswer[] | undefined,
  pending: readonly PendingCall[],
  { requireMayDecide, requireMaySupersede }: Decider,
): void {
  if (answers?.some(({ kind }) => kind !== 'client_tool')) requireMayDecide()
  else if (!answers && pending.some(({ kind }) => kind !== 'client_tool')) requireMaySupersede()
}

/** Tries again while others add to the same conversation, or decide what it waits for. */
function startRepeatedly<T>({ idempotency }: StartOptions, attempt: () => Promise<T>): Promise<T> {
  return idempotency ? attempt() : untilClaimed(attempt)
}

async function untilClaimed<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof RequestRepeated)) throw error
    }
  }
  throw new HostError('RESPONSE_CONFLICT', 'The conversation changes all the time')
}

function refuseContradictions({ background, store, conversation, previous_response_id }: CreateRequest): void {
  if (conversation && typeof previous_response_id === 'string') {
    throw contradiction('conversation', 'conversation and previous_response_id exclude each other')
  }
  if (store !== false) return
  if (background) {
    throw contradiction('background', 'background needs store: a response that is not stored cannot be fetched')
  }
  if (conversation) {
    throw contradiction('conversation', 'conversation needs store: a response that is not stored cannot be part of one')
  }
}

function contradiction(field: string, message: string): HostError {
  return new HostError('REQUEST_INVALID', message, { field })
}

function isTruncated({ truncation }: CreateRequest): boolean {
  return truncation === 'auto'
}
