import type { Before } from '../../../../durable/continuation/before.ts'
import { type NextRun, next } from '../../../../durable/continuation/next.ts'
import { storedMessages } from '../../../../durable/conversations/conversation-tree.ts'
import { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import { RequestRepeated, untilClaimed } from '../../../../durable/decisions/until-claimed.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { IdempotentRequest } from '../../../../durable/idempotency/idempotent-requests.ts'
import type { DurableRun } from '../../../../durable/runs/durable-run.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import type { Draft } from '../../../../durable/runs/run-row.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { REASONING } from '../../../../durable/runs/sealed-reasoning.ts'
import type { EndStep } from '../../../../durable/runs/steps.ts'
import { badRequest, type HostError } from '../../../../errors.ts'
import { nowSeconds } from '../../../../now-seconds.ts'
import { isUser } from '../../../../protocols/message.ts'
import type { ToolDefinition } from '../../../../protocols/tool-definition.ts'
import type { Turn } from '../../../../run/turn.ts'
import type { PendingAnswer, PendingCall } from '../../../../run/waiting/pending-call.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import type { Decider } from '../../../inbox/may-decide.ts'
import type { Dialect } from '../../../replies/dialect.ts'
import type { AdapterOptions } from '../../adapter.ts'
import { thresholdOf } from '../compaction/compaction.ts'
import type { Compactor } from '../compaction/compactor.ts'
import { hasReadableTools, mergeTools } from '../input/client-tools.ts'
import { addToConversation, continueConversation } from '../input/continue.ts'
import { type Earlier, type EarlierTurns, namesEarlier } from '../input/earlier-turns.ts'
import { ItemReferences, isReference } from '../input/item-references.ts'
import { type ReadInput, readInput, readText } from '../input/read-input.ts'
import { isSealed, unsealingFor } from '../input/sealed-items.ts'
import { toInputItems } from '../input/to-input-items.ts'
import { toRunOptions } from '../input/to-run-options.ts'
import { toTokenUsage } from '../output/token-usage.ts'
import type { CreateRequest, InputItem } from '../routes/schema.ts'
import { type OwnFields, RESPONSES, toAsked } from './to-record.ts'
import type { UnstoredResponses } from './unstored-responses.ts'

export interface ResponseStarterOptions extends Pick<AdapterOptions, 'host' | 'describeFailure'> {
  readonly limits: AdapterOptions['options']
  readonly runs: DurableRuns
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
  /** User of the sender, in place of the one that the request names. */
  readonly user: string | undefined
  /** Of the agent, where the request names one. */
  readonly variant?: Turn['variant']
  readonly idempotency?: IdempotentRequest | undefined
  /** Returns a signal for what precedes the run: it aborts when the client leaves. */
  readonly untilClientLeaves: () => AbortSignal
  /** Responses that only the client's connection knows, for those that continue them. */
  readonly unstored?: UnstoredResponses
}

/** Request as it was read, with what it continues. */
interface ReadRequest extends Earlier {
  readonly id: string
  /** Unix seconds. */
  readonly createdAt: number
  /** As they are stored. */
  readonly items: readonly InputItem[]
  readonly input: ReadInput
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
  start(body: CreateRequest, options: StartOptions): Promise<DurableRun> {
    if (!namesEarlier(body)) return this.#start(body, options)
    return startRepeatedly(options, () => this.#start(body, options))
  }

  /**
   * Stores a background run for a worker: of this server, or another.
   *
   * @throws as {@link ResponseStarter.start}
   */
  enqueue(body: CreateRequest, options: StartOptions): Promise<StoredRun> {
    return startRepeatedly(options, async () => this.#options.runs.enqueue(await this.#draft(body, options)))
  }

  async #start(body: CreateRequest, options: StartOptions): Promise<DurableRun> {
    const { runs, host, describeFailure } = this.#options
    const { unstored } = options
    // A request that names nothing before it waits for nothing.
    const drafting = this.#draft(body, options)
    const made = drafting instanceof Promise ? await drafting : drafting
    const isStored = body.store !== false
    const { sealsReasoning } = made.draft.facts.options
    const run = await runs.start(made, {
      store: isStored ? runs.store : undefined,
      keepsOutcome: unstored !== undefined,
      persistsSteps: body.stream === true,
      describeFailure,
      seal: sealsReasoning ? (await runs.clientSeal(REASONING, host.resolve(body.model).agent.id)).seal : undefined,
    })
    if (!isStored) unstored?.add(run, made.draft)
    return run
  }

  /**
   * Answers with a summary of the conversation in place of a run.
   *
   * @throws as {@link ResponseStarter.start}
   */
  compact(body: CreateRequest, options: StartOptions): Promise<StoredRun> {
    return startRepeatedly(options, () => this.#compact(body, options))
  }

  async #compact(body: CreateRequest, options: StartOptions): Promise<StoredRun> {
    const { runs, compactor } = this.#options
    const read = await this.#read(body, options)
    const { id, items, input, before, named } = read
    const { messages: added, pending: open } = addToConversation(input, before)
    const messages = [...(before?.conversation.messages ?? []), ...added]
    if (!messages.some(isUser)) throw invalidField('input', 'must contain a user message')
    const instructions = body.instructions ?? undefined
    const long = { responseId: id, agent: body.model, instructions, messages, open }
    const { item, usage, messages: short } = await compactor.summarize(long, options.untilClientLeaves())
    const given = { ...this.#describe(body, options, read, NONE), own: { output: [item] }, items, named }
    const { idempotency, decider } = options
    const alone = { ...given, messages: short, by: decider.by, idempotency }
    const { draft: made } = next(before && withoutPending(before), alone, runs.rulesFor(body.model))
    const draft: Draft = { ...made, earlier: [], makeTurn: () => ({ ...made.makeTurn(), startsOver: true }) }
    const end: EndStep = { end: 'completed', at: nowSeconds(), usage }
    const outcome = { messages: [], pending: open, waiting: [] }
    if (body.store === false) options.unstored?.addEnded({ id, outcome }, draft)
    else if (!(await runs.store.create(draft, [end], outcome))) throw new RequestRepeated()
    return { id, facts: draft.facts, steps: [end], items, inputs: items.length, batches: 1, isQueued: false }
  }

  /** Reads the input of a request, and the conversation that it continues. */
  #read(body: CreateRequest, options: StartOptions): ReadRequest | Promise<ReadRequest> {
    refuseContradictions(body)
    const { ids, limits } = this.#options
    const { input } = body
    const [id, createdAt] = [ids.next(), nowSeconds()]
    const isNamed = namesEarlier(body)
    if (typeof input === 'string' && !isNamed) {
      const items = keeps(body, options) ? toInputItems(input, id, createdAt) : NONE
      return { id, createdAt, items, input: readText(input) }
    }
    const items = toInputItems(input, id, createdAt)
    const budget = new HistoryBudget(limits)
    if (isNamed || items.some(isReference) || items.some(isSealed))
      return this.#readLater(body, options, { id, createdAt, items, budget })
    return { id, createdAt, items, input: readInput(takeReadable(items, body, options, budget)) }
  }

  async #readLater(
    body: CreateRequest,
    options: StartOptions,
    { id, createdAt, items, budget }: Pick<ReadRequest, 'id' | 'createdAt' | 'items'> & { budget: HistoryBudget },
  ): Promise<ReadRequest> {
    const { runs, host, earlier } = this.#options
    const { dialect, unstored } = options
    const resolved = items.some(isReference) ? await new ItemReferences(runs, budget).resolve(items) : items
    const readable = takeReadable(resolved, body, options, budget)
    const rules = { isStrict: dialect.isExtended, findAgent: () => host.resolve(body.model).agent.id }
    const input = readInput(readable, 'input', await unsealingFor(resolved, runs, rules))
    return { id, createdAt, items, input, ...(await earlier.read(body, { budget, unstored })) }
  }

  #draft(body: CreateRequest, options: StartOptions): NextRun | Promise<NextRun> {
    const read = this.#read(body, options)
    if (!(read instanceof Promise)) return this.#next(body, options, read)
    return read.then((later) => this.#next(body, options, later))
  }

  /** Makes the run of a request; a conversation that is too long is shortened first. */
  #next(body: CreateRequest, options: StartOptions, read: ReadRequest): NextRun | Promise<NextRun> {
    const made = this.#make(body, options, read)
    const maxTokens = thresholdOf(body)
    return maxTokens === undefined ? made : this.#limit(made, maxTokens, options.untilClientLeaves())
  }

  #make(body: CreateRequest, options: StartOptions, read: ReadRequest): NextRun {
    const { decider, unstored } = options
    const { runs } = this.#options
    const { items, input, before, named } = read
    const last = before?.conversation.last
    const { messages, answers } = continueConversation(input, before)
    const isGoingOn = messages.length === 0
    requireMayAnswer(isGoingOn ? answers : undefined, last?.pending ?? [], decider)
    if (last && !before?.facts && isGoingOn && answers) unstored?.decide(last.response_id, answers)
    const tools = mergeTools(last?.tools ?? NONE, input.added?.tools ?? NONE)
    const begun = this.#describe(body, options, read, tools)
    const { idempotency } = options
    // Of a step that calls own and client tools at once, only the client's are known to anyone afterwards.
    const isTrailLost = !keeps(body, options) || undefined
    // The spread stands last: each field that is added after one costs 1 us.
    const given = { messages, answers, by: decider.by, items, named, tools, idempotency, isTrailLost, ...begun }
    return next(before, given, runs.rulesFor(body.model))
  }

  /** Describes the run that answers a request. */
  #describe(
    body: CreateRequest,
    circumstances: StartOptions,
    { id, createdAt }: ReadRequest,
    tools: readonly ToolDefinition[],
  ) {
    const { runs, host } = this.#options
    const { dialect, traceparent, variant, user } = circumstances
    const data = keeps(body, circumstances) ? toAsked(body) : body
    const target = host.resolve(body.model)
    const options = toRunOptions(body, { target, tools, dialect, variant, traceparent, user })
    return { id, createdAt, tenant: runs.tenant, adapter: RESPONSES, agent: body.model, options, data }
  }

  /** Puts a summary in the place of a conversation that is too long. One that waits for a person stays as it is until then. */
  async #limit(made: NextRun, maxTokens: number, signal: AbortSignal): Promise<NextRun> {
    const { compactor, host } = this.#options
    const { draft, turn } = made
    const { id, facts } = draft
    const { pending: open = [], messages, instructions } = turn
    if (open.some(({ kind }) => kind !== 'client_tool')) return made
    // A request that is refused needs no summary.
    host.check(facts.agent, turn)
    const long = { responseId: id, agent: facts.agent, instructions, messages, open }
    const short = await compactor.limit(long, maxTokens, signal)
    if (!short) return made
    const own: OwnFields = { output: [short.item], usage: toTokenUsage(short.usage) }
    return {
      draft: {
        ...draft,
        facts: { ...facts, own },
        makeTurn: () => ({ ...draft.makeTurn(), ...storedMessages(id, short.messages), startsOver: true }),
        earlier: [],
      },
      turn: { ...turn, messages: short.messages },
    }
  }
}

const NONE: readonly never[] = Object.freeze([])

/** Tells whether anything of a response is kept, for a request that continues it. */
function keeps({ store }: CreateRequest, { unstored }: StartOptions): boolean {
  return store !== false || unstored !== undefined
}

/** The summary holds the calls that are open: they stay so. */
function withoutPending(before: Before): Before {
  const { conversation } = before
  return { ...before, conversation: { ...conversation, last: { ...conversation.last, pending: [] } } }
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
  return badRequest(message, { field })
}

/** The item; one without tools in the place of one whose tools cannot be read. */
function withReadableTools(item: InputItem): InputItem {
  if (item.type !== 'additional_tools' || hasReadableTools(item)) return item
  return Object.assign({ ...item }, { tools: [] })
}

/** Counts the items of an input, and returns them so that the dialect can read all of them. */
function takeReadable(
  items: readonly InputItem[],
  { truncation }: CreateRequest,
  { dialect }: StartOptions,
  budget: HistoryBudget,
): readonly InputItem[] {
  if (truncation === 'auto') budget.takeItems(items.length, 0)
  else budget.addItems(items.length, 0)
  return dialect.isExtended ? items : items.map(withReadableTools)
}
