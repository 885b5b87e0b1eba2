import { makeTurn, storedMessages } from '../../../../durable/conversations/conversation-tree.ts'
import { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import { truncate } from '../../../../durable/conversations/truncate.ts'
import { joinClaims } from '../../../../durable/decisions/claim.ts'
import { joinDecisions, readDecided } from '../../../../durable/decisions/join-decisions.ts'
import {
  type IdempotentRequest,
  RequestRepeated,
  untilClaimed,
} from '../../../../durable/idempotency/idempotent-requests.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { Draft } from '../../../../durable/runs/run-row.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { REASONING } from '../../../../durable/runs/sealed-reasoning.ts'
import { type EndStep, nowSeconds } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import type { Turn } from '../../../../run/turn.ts'
import { type PendingAnswer, type PendingCall, toolCallOf } from '../../../../run/waiting/pending-call.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { Decider } from '../../../guards/decisions.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { beginRecord } from '../input/begin-record.ts'
import { hasReadableTools, mergeTools } from '../input/client-tools.ts'
import { thresholdOf } from '../input/compaction.ts'
import { addToConversation, continueConversation } from '../input/continue.ts'
import type { EarlierTurns } from '../input/earlier-turns.ts'
import { ItemReferences, isReference } from '../input/item-references.ts'
import { readInput } from '../input/read-input.ts'
import { unsealingFor } from '../input/sealed-items.ts'
import { toInputItems } from '../input/to-input-items.ts'
import { toJob } from '../input/to-job.ts'
import { toTurn } from '../input/to-turn.ts'
import { toTokenUsage } from '../output/token-usage.ts'
import type { CreateRequest, InputItem, ResponseRecord } from '../routes/schema.ts'
import type { Compactor } from './compactor.ts'
import type { ResponseRun } from './response-run.ts'
import type { ResponseRuns, StoredResponse } from './response-runs.ts'
import type { UnstoredResponses } from './unstored-responses.ts'

export interface ResponseStarterOptions extends Pick<AdapterOptions, 'host' | 'describeFailure'> {
  readonly limits: AdapterOptions['options']
  readonly runs: ResponseRuns
  readonly earlier: EarlierTurns
  readonly compactor: Compactor
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
  /** Returns a signal for what precedes the run: it aborts when the client leaves. */
  readonly untilClientLeaves: () => AbortSignal
  /** Responses that only the client's connection knows, for those that continue them. */
  readonly unstored?: UnstoredResponses
}

const NO_TOOLS = Object.freeze([])

/** Response that is about to begin. */
interface Drafted {
  readonly draft: Draft
  readonly turn: Turn
}

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
  enqueue(body: CreateRequest, options: StartOptions): Promise<StoredRun> {
    return startRepeatedly(options, () => this.#enqueue(body, options))
  }

  async #enqueue(body: CreateRequest, options: StartOptions): Promise<StoredRun> {
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
      seal: job.sealsReasoning ? (await runs.clientSeal(REASONING, agent.id)).seal : undefined,
    })
    if (!store) unstored?.add(run, draft)
    return run
  }

  /**
   * Answers with a summary of the conversation in place of a run.
   *
   * @throws as {@link ResponseStarter.start}
   */
  compact(body: CreateRequest, options: StartOptions): Promise<StoredResponse> {
    return startRepeatedly(options, () => this.#compact(body, options))
  }

  async #compact(body: CreateRequest, options: StartOptions): Promise<StoredResponse> {
    const { runs, compactor } = this.#options
    const { record, items, input, conversation, named } = await this.#read(body, options)
    const { id, created_at } = record
    const { messages: added, pending: open } = addToConversation(input, conversation)
    const messages = [...(conversation?.messages ?? []), ...added]
    if (!messages.some(({ role }) => role === 'user')) throw invalidField('input', 'must contain a user message')
    const instructions = body.instructions ?? undefined
    const long = { responseId: id, agent: body.model, instructions, messages, open }
    const { item, usage, messages: short } = await compactor.summarize(long, options.untilClientLeaves())
    const turn = { ...makeTurn(id, created_at, short, conversation?.last, open), startsOver: true }
    const facts: ResponseRecord = { ...record, output: [item] }
    const end: EndStep = { end: 'completed', at: nowSeconds(), usage }
    const draft: Draft = {
      ...{ id, facts, items, earlier: [], idempotency: options.idempotency },
      turn: named ? { ...turn, conversation: named.id } : turn,
      claim: named && runs.conversations.claim(named, id),
    }
    const outcome = { messages: [], pending: open, waiting: [] }
    if (!record.store) options.unstored?.addEnded({ id, outcome }, draft)
    else if (!(await runs.store.create(draft, [end], outcome))) throw new RequestRepeated()
    return { id, facts, steps: [end], items, inputs: items.length, batches: 1, isQueued: false }
  }

  /** Reads the input of a request, and the conversation that it continues. */
  async #read(body: CreateRequest, { unstored, dialect }: StartOptions) {
    refuseContradictions(body)
    const { runs, ids, limits, host } = this.#options
    const createdAt = nowSeconds()
    const record = beginRecord(body, ids.next(), createdAt)
    const items = toInputItems(body.input, record.id, createdAt)
    const budget = new HistoryBudget(limits)
    const resolved = items.some(isReference) ? await new ItemReferences(runs, budget).resolve(items) : items
    if (isTruncated(body)) budget.takeItems(resolved.length, 0)
    else budget.addItems(resolved.length, 0)
    const rules = { isStrict: dialect.isExtended, findAgent: () => host.resolve(body.model).agent.id }
    const opening = unsealingFor(resolved, runs, rules)
    const read = dialect.isExtended ? resolved : resolved.map(withReadableTools)
    const input = readInput(read, 'input', opening && (await opening))
    return { record, items, input, ...(await this.#options.earlier.read(body, { budget, unstored })) }
  }

  async #draft(body: CreateRequest, options: StartOptions) {
    const { dialect, traceparent, decider, variant, idempotency, unstored } = options
    const { runs, ids, host } = this.#options
    const { record, items, input, conversation, named, isUnstored } = await this.#read(body, options)
    const { id, created_at: createdAt } = record
    const decided = conversation && !isUnstored ? conversation.last : undefined
    const { approvals, carriedOut } = await readDecided(runs.approvals, decided)
    const { messages, answers: given, pending } = continueConversation(input, conversation, carriedOut)
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
    if (isUnstored && conversation && given) unstored?.decide(conversation.last.response_id, given)
    const joining = { answers: given, agent: body.model, id, by: decider.by }
    const joined = decided && joinDecisions(approvals, decided, joining)
    const { answers = given, claim, resumes } = joined ?? {}
    const made = makeTurn(id, createdAt, messages, conversation?.last, pending)
    const stored = added.length > 0 ? { ...made, tools: added } : made
    const draft: Draft = {
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
    // A message in the place of the answers that the response before waits for.
    const answersTo = answers ? undefined : conversation?.last.pending?.[0]?.runId
    // Spread last: in Node 20, adding properties after a spread takes microseconds.
    const turn: Turn = { answers, pending, isTrailLost, answersTo, ...asked }
    const maxTokens = thresholdOf(body)
    if (maxTokens !== undefined) return this.#limit({ draft, turn }, maxTokens, options.untilClientLeaves())
    if (!joined?.answers || variant) return { draft, turn }
    return {
      draft,
      turn: { ...turn, variant: await this.#variantOfWaiting(conversation?.last.response_id, body.model) },
    }
  }

  /** Puts a summary in the place of a conversation that is too long. One that waits for a person stays as it is until then. */
  async #limit(drafted: Drafted, maxTokens: number, signal: AbortSignal): Promise<Drafted> {
    const { compactor, host } = this.#options
    const { draft, turn } = drafted
    const { id, facts } = draft
    const { pending: open = [], messages, instructions } = turn
    if (open.some(({ kind }) => kind !== 'client_tool')) return drafted
    // A request that is refused needs no summary.
    host.check(facts.model, turn)
    const long = { responseId: id, agent: facts.model, instructions, messages, open }
    const short = await compactor.limit(long, maxTokens, signal)
    if (!short) return drafted
    const usage = toTokenUsage(short.usage)
    return {
      draft: {
        ...draft,
        facts: { ...facts, output: [short.item], usage },
        turn: { ...draft.turn, ...storedMessages(id, short.messages), startsOver: true },
        earlier: [],
      },
      turn: { ...turn, messages: short.messages },
    }
  }

  /** A decision continues the variant that waits, from any client. */
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

/** The item; one without tools in the place of one whose tools cannot be read. */
function withReadableTools(item: InputItem): InputItem {
  if (item.type !== 'additional_tools' || hasReadableTools(item)) return item
  return Object.assign({ ...item }, { tools: [] })
}

function isTruncated({ truncation }: CreateRequest): boolean {
  return truncation === 'auto'
}
