import { onAbort, raceAbort } from '../../async.ts'
import { badRequest, failureOf, HostError } from '../../errors.ts'
import {
  COUNT,
  FLAG,
  FUNCTION,
  JSON_VALUE,
  list,
  mapOf,
  matching,
  OBJECT,
  object,
  optional,
  POSITIVE,
  pick,
  requireGiven,
  SIGNAL,
  TENANT,
  TEXT,
} from '../../given.ts'
import { type AgentHost, VISITS } from '../../host/host.ts'
import { checkAnswers } from '../../host/waiting-run.ts'
import { nowSeconds } from '../../now-seconds.ts'
import { NO_USAGE } from '../../protocols/usage.ts'
import { CheckTime } from '../../run/checks/check-time.ts'
import { LOCAL_OPTIONS, PENDING, STORED_FIELDS, STORED_MESSAGES, stored } from '../../run/checks/given-turn.ts'
import type { GivenAnswer, PendingAnswer, PendingCall } from '../../run/waiting/pending-call.ts'
import { findAnswerProblem } from '../../run/waiting/settle-answers.ts'
import { approvalId, approvalNotFound, openWaiting, runIdOf } from '../approvals/approvals.ts'
import type { StoredApproval } from '../approvals/stored-approval.ts'
import { nextAfterAnswers, type StoredBefore } from '../continuation/after-answers.ts'
import { loadBefore } from '../continuation/before.ts'
import { type NextRun, next } from '../continuation/next.ts'
import type { ConversationRecord } from '../conversations/conversation-store.ts'
import type { StoredTurn } from '../conversations/conversation-tree.ts'
import { conversationIdFor } from '../conversations/named-conversation.ts'
import { untilClaimed } from '../decisions/until-claimed.ts'
import type { DurableRuns } from '../durable-runs.ts'
import type { RunService } from '../run-service.ts'
import { withKey } from '../runs/admit.ts'
import { type DurableEvent, EventReader } from '../runs/durable-event.ts'
import type { DurableRun } from '../runs/durable-run.ts'
import { SHOWN_AFTER_DECISION } from '../runs/run-facts.ts'
import { uuidOf } from '../runs/run-ids.ts'
import { rowKey } from '../runs/run-keys.ts'
import type { StoredRun } from '../runs/run-store.ts'
import { answerOf, isEnd, type Step } from '../runs/steps.ts'
import type {
  AdapterRuns,
  AnsweredRun,
  BegunRequest,
  DurableRequest,
  FollowOptions,
  HereOptions,
  KeptRun,
  OnceAnswers,
  OpenCall,
  ResumedRun,
  RunOutcome,
  StoredRunInfo,
  TenantRuns,
  WaitingPage,
  WaitingRange,
} from './adapter-runs.ts'
import { type EnqueueParts, enqueueRequest, nextOf, runNotFound } from './enqueue-request.ts'

const DEFAULT_PAGE = 100
const REQUEST_FIELDS = {
  agent: TEXT,
  messages: STORED_MESSAGES,
  previousId: optional(TEXT),
  thread: optional(TEXT),
  data: optional(JSON_VALUE),
  idempotency: optional(object({ hash: TEXT, body: TEXT, atMs: COUNT, keptMs: optional(COUNT) })),
  ...STORED_FIELDS,
}
const BEGUN_FIELDS = { ...REQUEST_FIELDS, answers: optional(list(object({ callId: TEXT }))), by: optional(TEXT) }
const KEPT_FIELDS = {
  agent: TEXT,
  messages: STORED_MESSAGES,
  result: object({ text: TEXT, usage: stored(OBJECT), pending: stored(PENDING), trail: STORED_MESSAGES }),
  id: optional(matching(/^resp_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/, 'the id of a run')),
  data: optional(JSON_VALUE),
  background: optional(FLAG),
  ...STORED_FIELDS,
}
const REQUEST = object(REQUEST_FIELDS)
const BEGUN = object(BEGUN_FIELDS)
const KEPT = object(KEPT_FIELDS)
const ANSWERS = mapOf(OBJECT)
const FOLLOW = object({ after: optional(COUNT), signal: optional(SIGNAL) })
const ONCE = object({ first: FUNCTION, again: FUNCTION })
const RANGE = object({ limit: optional(POSITIVE), after: optional(TEXT) })

/**
 * Returns the durable runs of a project as one adapter uses them.
 *
 * @param adapter name under which data of the adapter is stored
 */
export function makeAdapterRuns(service: RunService, host: AgentHost, adapter: string): AdapterRuns {
  return {
    of: (tenant) => {
      requireGiven(TENANT, tenant, 'tenant')
      return new StoredTenantRuns({ service, host, adapter, tenant })
    },
  }
}

interface TenantOptions extends EnqueueParts {
  readonly tenant: string
}

class StoredTenantRuns implements TenantRuns {
  readonly #options: TenantOptions

  constructor(options: TenantOptions) {
    this.#options = options
  }

  async start(request: DurableRequest): Promise<StoredRunInfo> {
    requireGiven(REQUEST, request, 'request')
    // An unknown name is refused before the store is read.
    this.#options.host.resolve(request.agent)
    const runs = await this.#open()
    const own = pick(request, REQUEST_FIELDS)
    const enqueue = async () => enqueueRequest(this.#options, runs, await this.#inThread(runs, own))
    return this.#describe(runs, await claimed(request, enqueue))
  }

  async begin(request: BegunRequest, options: HereOptions = {}): Promise<ResumedRun> {
    requireGiven(BEGUN, request, 'request')
    requireGiven(LOCAL_OPTIONS, options, 'options')
    this.#options.host.resolve(request.agent)
    const own = pick(request, BEGUN_FIELDS)
    const runs = await this.#open()
    return claimed(request, async () => {
      const next = await nextOf(this.#options, runs, await this.#inThread(runs, own), {})
      return this.#run(runs, next, options)
    })
  }

  async once<T>(key: string, body: unknown, answers: OnceAnswers<T>): Promise<T> {
    requireGiven(TEXT, key, 'key')
    requireGiven(JSON_VALUE, body, 'body')
    requireGiven(ONCE, answers, 'answers')
    const { first, again } = answers
    const { requests } = await this.#open()
    return requests.once(JSON.stringify([this.#options.adapter, key]), body, again, first)
  }

  async latest(thread: string): Promise<StoredRunInfo | undefined> {
    requireGiven(TEXT, thread, 'thread')
    const found = await (await this.#open()).conversations.find(this.#idOf(thread))
    return found?.head ? this.find(found.head) : undefined
  }

  /** Puts the conversation of a thread into a request. */
  async #inThread(
    { conversations }: DurableRuns,
    { thread, ...request }: BegunRequest,
  ): Promise<Omit<BegunRequest, 'thread'> & { readonly named?: ConversationRecord }> {
    if (thread === undefined) return request
    return { ...request, named: await conversations.findOrCreate(this.#idOf(thread), {}) }
  }

  /** Threads of another adapter are others. */
  #idOf(thread: string): string {
    return conversationIdFor('thread', this.#options.adapter, thread)
  }

  /** Carries a run out in this process. */
  #run(runs: DurableRuns, { draft, turn }: NextRun, { onEvent, overrides }: HereOptions): Promise<DurableRun> {
    const { describeFailure } = this.#options.service
    const kept = { store: runs.store, persistsSteps: false, describeFailure, onEvent }
    return runs.start({ draft, turn: { ...turn, overrides } }, kept)
  }

  async keep(waiting: KeptRun): Promise<readonly OpenCall[]> {
    requireGiven(KEPT, waiting, 'waiting')
    const { agent, messages, result, data = null, ...given } = pick(waiting, KEPT_FIELDS)
    const { service, host, adapter } = this.#options
    const { isRestartSafe } = host.resolve(agent).agent
    const runs = await this.#open()
    const { text, usage, trail, pending } = result
    const createdAt = nowSeconds()
    const { id = service.ids.next(), ...asked } = given
    const { user = asked.user } = host[VISITS].current ?? {}
    const options = { ...asked, user, shows: SHOWN_AFTER_DECISION, isRestartSafe }
    const begun = { id, createdAt, tenant: runs.tenant, adapter, agent, messages, data, by: adapter }
    const { draft } = next(undefined, { ...begun, options }, runs.rulesFor(agent))
    const steps: Step[] = [
      ...(text === '' ? [] : [text]),
      ...pending.map((call) => ({ pending: call })),
      { end: 'completed', at: createdAt, usage },
    ]
    const opened = openWaiting({ runId: id, agent, pending, createdAt }, adapter)
    const claim = { changes: [], equal: [], absent: [rowKey(id)] }
    const outcome = { messages: trail.slice(messages.length), pending, waiting: opened }
    if (!(await runs.store.create({ ...withKey(host, draft), claim }, steps, outcome)))
      throw new HostError('RESPONSE_CONFLICT', `Another run is stored as '${id}': give each run an id of its own.`)
    runs.noteStored(id, result.runId)
    return pending.map((call, index) => ({ id: approvalId(id, index), call }))
  }

  async find(id: string): Promise<StoredRunInfo | undefined> {
    requireGiven(TEXT, id, 'id')
    const runs = await this.#open()
    const stored = await this.#stored(runs, id)
    return stored && this.#describe(runs, stored)
  }

  async *follow(id: string, options: FollowOptions = {}): AsyncGenerator<DurableEvent> {
    requireGiven(TEXT, id, 'id')
    requireGiven(FOLLOW, options, 'options')
    const { after = 0, signal } = options
    const leaving = new AbortController()
    const leave = () => leaving.abort()
    const forget = onAbort(signal, leave)
    try {
      const runs = await this.#open()
      const stored = await this.#stored(runs, id)
      if (!stored) throw runNotFound()
      const log = runs.read(stored, leaving.signal)
      const reader = new EventReader(id)
      while (!leaving.signal.aborted) {
        const steps = await raceAbort(log.read(reader.count), leaving.signal).catch(ignoreAfter(leaving.signal))
        if (steps.length === 0) return
        for (const event of reader.read(steps)) if (event.number > after) yield event
        if (isEnd(steps.at(-1))) return
      }
    } finally {
      forget()
      leave()
    }
  }

  async outcome(id: string, signal?: AbortSignal): Promise<RunOutcome> {
    requireGiven(optional(SIGNAL), signal, 'signal')
    for await (const event of this.follow(id, signal && { signal })) void event
    signal?.throwIfAborted()
    const info = await this.find(id)
    if (!info || info.status === 'failed' || info.status === 'cancelled') throw failureOf(info?.error, info?.code)
    return info
  }

  async answer(answers: ReadonlyMap<string, GivenAnswer>, by: string): Promise<AnsweredRun> {
    requireGiven(ANSWERS, answers, 'answers')
    requireGiven(TEXT, by, 'by')
    const runs = await this.#open()
    if ([...answers.values()].some(({ kind }) => kind === 'client_tool')) return this.#goOn(runs, answers, by)
    const { approvals, continuedBy } = await runs.deciding.decide(answers, by)
    const open = approvals.filter(({ status }) => status === 'pending')
    return { continuedBy, open: open.map(({ id, pending: call }) => ({ id, call })) }
  }

  async cancel(id: string): Promise<StoredRunInfo | undefined> {
    const info = await this.find(id)
    if (!info || !['queued', 'in_progress', 'waiting'].includes(info.status)) return info
    const runs = await this.#open()
    // An answer was quicker.
    if (waitsForClient(info) && !(await runs.store.closeWaiting(id))) return this.#cancelNext(id)
    const stored = await runs.cancel(id)
    const cancelled = stored && (await this.#describe(runs, stored))
    return cancelled?.continuedBy ? this.#cancelNext(id) : cancelled
  }

  /** Cancels the run that continues one. */
  async #cancelNext(id: string): Promise<StoredRunInfo | undefined> {
    const info = await this.find(id)
    if (info?.continuedBy) await this.cancel(info.continuedBy)
    return info
  }

  async listWaiting(range: WaitingRange = {}): Promise<WaitingPage> {
    requireGiven(RANGE, range, 'range')
    const { limit = DEFAULT_PAGE, after } = range
    const { approvals, unreadable } = await this.#open()
    const asked = { onlyOpen: true, limit, order: 'asc', after } as const
    const { approvals: found, hasMore } = await approvals.list(asked, unreadable)
    const waiting = found.map(({ id, runId, agent, pending: call, createdAt, expiresAt }) => {
      return { id, runId, agent, call, createdAt, expiresAt }
    })
    return { waiting, hasMore }
  }

  async #open(): Promise<DurableRuns> {
    const { service, host, tenant } = this.#options
    return (await service.open()).of(tenant, host[VISITS].current?.sees)
  }

  async #stored(runs: DurableRuns, id: string): Promise<StoredRun | undefined> {
    return this.#options.service.ids.isId(id) ? runs.store.get(id) : undefined
  }

  /** Goes on with results of the client's tools; decisions that are still open stay so, in the run that goes on. */
  #goOn(runs: DurableRuns, given: ReadonlyMap<string, GivenAnswer>, by: string): Promise<AnsweredRun> {
    const [first = ''] = given.keys()
    return untilClaimed(async () => {
      const before = await this.#readWaiting(runs, runIdOf(first))
      const answers = readAnswers(before.conversation.last, given)
      const more = { id: this.#options.service.ids.next(), answers, by, isOnce: true, background: true } as const
      const { id } = await runs.enqueue(nextAfterAnswers(runs, before, more))
      return { continuedBy: id, open: [] }
    })
  }

  async resume(
    id: string,
    answers: readonly PendingAnswer[],
    by: string,
    options: HereOptions = {},
  ): Promise<ResumedRun> {
    requireGiven(TEXT, id, 'id')
    requireGiven(TEXT, by, 'by')
    requireGiven(LOCAL_OPTIONS, options, 'options')
    const runs = await this.#open()
    return untilClaimed(async () => {
      const before = await this.#readWaiting(runs, id)
      const { facts, conversation } = before
      checkAnswers({ runId: uuidOf(id), agent: facts.agent, pending: conversation.last.pending ?? [] }, answers)
      const more = { id: this.#options.service.ids.next(), answers, by, isOnce: true }
      return this.#run(runs, nextAfterAnswers(runs, before, more), options)
    })
  }

  /** @throws HostError `APPROVAL_NOT_FOUND` */
  async #readWaiting(runs: DurableRuns, id: string): Promise<StoredBefore> {
    const isId = this.#options.service.ids.isId(id)
    const before = isId ? await loadBefore(runs, id, { findsNamed: true, readsContinued: true }) : undefined
    if (!before?.facts) throw approvalNotFound(NO_CALL)
    return { ...before, facts: before.facts }
  }

  async #describe(runs: DurableRuns, { id, facts, steps, isQueued }: StoredRun): Promise<StoredRunInfo> {
    const last = steps.at(-1)
    const end = isEnd(last) ? last : undefined
    const pending = steps.flatMap((step) => (typeof step === 'object' && 'pending' in step ? [step.pending] : []))
    const read = end && pending.length > 0 ? await readOpen(runs, id, pending) : NOTHING_OPEN
    const isEnded = end?.end === 'completed'
    const open = isEnded ? read.open : []
    const isExpired = isEnded && read.isExpired
    return {
      id,
      status: open.length > 0 ? 'waiting' : isExpired ? 'expired' : (end?.end ?? (isQueued ? 'queued' : 'in_progress')),
      text: answerOf(steps),
      open,
      continuedBy: read.continuedBy,
      previousId: facts.previousId,
      agent: facts.agent,
      data: facts.adapter === this.#options.adapter ? facts.data : null,
      createdAt: facts.createdAt,
      endedAt: end?.at ?? null,
      usage: end?.usage ?? NO_USAGE,
      incompleteReason: end?.incomplete,
      error: end?.error,
      code: end?.code,
    }
  }
}

/** A request with a key of its client is repeated by those who know the key. */
function claimed<T>({ idempotency }: DurableRequest, attempt: () => Promise<T>): Promise<T> {
  return idempotency ? attempt() : untilClaimed(attempt)
}

const NO_CALL = 'No such call waits'
const NOTHING_OPEN = Object.freeze({ open: [], continuedBy: null, isExpired: false })

/** Reads what is still open of a run that has ended waiting: nothing once another continues it. */
async function readOpen(
  runs: DurableRuns,
  id: string,
  pending: readonly PendingCall[],
): Promise<Pick<StoredRunInfo, 'open' | 'continuedBy'> & { readonly isExpired: boolean }> {
  const approvals = await runs.approvals.ofRun(id)
  const continuedBy = approvals.length > 0 ? approvals.find(isContinued)?.continuedBy : await runs.store.nextOf(id)
  if (continuedBy) return { ...NOTHING_OPEN, continuedBy }
  const all = pending.map((call, index) => ({ id: approvalId(id, index), call }))
  const isOpen = ({ id, call }: OpenCall) =>
    call.kind === 'client_tool' || approvals.some((approval) => approval.id === id && approval.status === 'pending')
  const open = all.filter(isOpen)
  return {
    open,
    continuedBy: null,
    isExpired: open.length === 0 && approvals.some(({ status }) => status === 'expired'),
  }
}

function isContinued({ continuedBy }: StoredApproval): boolean {
  return continuedBy !== null
}

function waitsForClient({ open }: StoredRunInfo): boolean {
  return open.length > 0 && open.every(({ call }) => call.kind === 'client_tool')
}

/** @throws HostError `APPROVAL_NOT_FOUND`; `REQUEST_INVALID` for an answer that does not fit, and a missing result of a client's tool */
function readAnswers(
  { response_id: runId, pending = [] }: StoredTurn,
  given: ReadonlyMap<string, GivenAnswer>,
): PendingAnswer[] {
  const calls = new Map(pending.map((call, index) => [approvalId(runId, index), call]))
  const unknownId = [...given.keys()].find((id) => !calls.has(id))
  if (unknownId !== undefined) throw approvalNotFound(NO_CALL)
  const time = new CheckTime()
  return [...calls].flatMap(([id, call]) => {
    const answer = given.get(id)
    if (answer) return [fit(call, { ...answer, callId: call.callId }, time)]
    if (call.kind !== 'client_tool') return []
    throw badRequest(`The call '${call.name}' has no result: send those of all client tools.`)
  })
}

function fit(call: PendingCall, answer: PendingAnswer, time: CheckTime): PendingAnswer {
  const problem = findAnswerProblem(call, answer, time)
  if (problem !== undefined) throw badRequest(problem)
  return answer
}

/** Returns a handler that takes the rejection of what an abort has ended as nothing more to read. */
function ignoreAfter(signal: AbortSignal): (error: unknown) => readonly Step[] {
  return (error) => {
    if (signal.aborted) return []
    throw error
  }
}
