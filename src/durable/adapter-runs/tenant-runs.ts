import { raceAbort } from '../../async.ts'
import { HostError } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import { NO_USAGE } from '../../protocols/usage.ts'
import { CheckTime } from '../../run/checks/check-time.ts'
import type { GivenAnswer, PendingAnswer, PendingCall } from '../../run/waiting/pending-call.ts'
import { findAnswerProblem } from '../../run/waiting/settle-answers.ts'
import { approvalId, runIdOf, type StoredApproval } from '../approvals/approvals.ts'
import { openWaiting } from '../approvals/open-waiting.ts'
import { type LoadedConversation, makeTurn, type StoredTurn } from '../conversations/conversation-tree.ts'
import { HistoryBudget } from '../conversations/history-budget.ts'
import { toSuperseded } from '../conversations/superseded.ts'
import { lengthOf } from '../conversations/truncate.ts'
import { type Continuing, type Decided, type Joined, joinDecisions, readDecided } from '../decisions/join-decisions.ts'
import { toTurn } from '../decisions/next-run.ts'
import type { DurableRuns } from '../durable-runs.ts'
import { RequestRepeated, untilClaimed } from '../idempotency/idempotent-requests.ts'
import { ADAPTER_EVENTS, type Job, SHOWN_AFTER_DECISION } from '../queue/job.ts'
import type { RunService } from '../run-service.ts'
import { claimContinued } from '../runs/continued-mark.ts'
import { type DurableEvent, EventReader } from '../runs/durable-event.ts'
import { secondsOf } from '../runs/run-ids.ts'
import type { StoredRun } from '../runs/run-store.ts'
import { answerOf, isEnd, nowSeconds, type Step } from '../runs/steps.ts'
import { type AdapterFacts, isAdapterFacts } from './adapter-facts.ts'
import type {
  AdapterRuns,
  AnsweredRun,
  DurableRequest,
  FollowOptions,
  KeptRun,
  OpenCall,
  RunOutcome,
  StoredRunInfo,
  StoredRunStatus,
  TenantRuns,
  WaitingPage,
  WaitingRange,
} from './adapter-runs.ts'

const DEFAULT_PAGE = 100

/**
 * Returns the durable runs of a project as one adapter uses them.
 *
 * @param adapter name under which data of the adapter is stored
 */
export function makeAdapterRuns(service: RunService, host: AgentHost, adapter: string): AdapterRuns {
  return { of: (tenant) => new StoredTenantRuns({ service, host, adapter, tenant }) }
}

interface TenantOptions {
  readonly service: RunService
  readonly host: AgentHost
  readonly adapter: string
  readonly tenant: string
}

type Runs = DurableRuns

class StoredTenantRuns implements TenantRuns {
  readonly #options: TenantOptions

  constructor(options: TenantOptions) {
    this.#options = options
  }

  start(request: DurableRequest): Promise<StoredRunInfo> {
    return untilClaimed(() => this.#start(request))
  }

  async #start({ agent, messages, previousId, data = null, ...options }: DurableRequest): Promise<StoredRunInfo> {
    const { host, service, adapter, tenant } = this.#options
    // An unknown name is refused before the store is read.
    const { approvalTtl, isRestartSafe = false } = host.resolve(agent).agent
    const runs = await this.#open()
    const budget = new HistoryBudget(service.limits)
    for (const message of messages) budget.addItems(1, lengthOf(message))
    const earlier = previousId === undefined ? undefined : await readEarlier(runs, previousId, budget)
    const [id, createdAt] = [service.ids.next(), nowSeconds()]
    const decided = await readDecided(runs.approvals, earlier?.last)
    const superseded = toSuperseded(earlier?.last.pending ?? [], decided.carriedOut)
    const turn = makeTurn(id, createdAt, [...superseded, ...messages], earlier?.last)
    const job: Job = {
      ...{ agent, options: { ...options, background: true }, shows: ADAPTER_EVENTS },
      ...{ answersTo: earlier?.last.pending?.[0]?.runId, isRestartSafe, approvalTtl },
    }
    const all = [...(earlier?.messages ?? []), ...superseded, ...messages]
    host.check(agent, toTurn(tenant, turn, job, all))
    const facts = { adapter, agent, createdAt, previousId: previousId ?? null, options: job.options, data }
    const by = { id, agent, answers: undefined, by: adapter }
    const joined = earlier && (await joinWaiting(runs, earlier.last, decided, by))
    return this.#enqueue(runs, { id, facts, turn, earlier: earlier?.messages ?? [], ...joined }, job)
  }

  async keep({ agent, messages, result, data = null, ...given }: KeptRun): Promise<readonly OpenCall[]> {
    const { service, host, adapter } = this.#options
    const runs = await this.#open()
    const { text, pending, usage, trail } = result
    const [id, createdAt] = [service.ids.next(), nowSeconds()]
    const { tenant: _tenant, ...options } = given
    const facts: AdapterFacts = { adapter, agent, createdAt, previousId: null, options, data }
    const turn = makeTurn(id, createdAt, messages, undefined)
    const draft = { id, facts, items: [], turn, earlier: [], idempotency: undefined }
    const steps: Step[] = [
      ...(text === '' ? [] : [text]),
      ...pending.map((call) => ({ pending: call })),
      { end: 'completed', at: createdAt, usage },
    ]
    const { approvalTtl, isRestartSafe = false } = host.resolve(agent).agent
    const job = { agent, options: given, shows: SHOWN_AFTER_DECISION, isRestartSafe, approvalTtl }
    const waiting = openWaiting(id, job, pending)
    await runs.store.create(draft, steps, { messages: trail.slice(messages.length), pending, waiting })
    return pending.map((call, index) => ({ id: approvalId(id, index), call }))
  }

  async find(id: string): Promise<StoredRunInfo | undefined> {
    const runs = await this.#open()
    const stored = this.#options.service.ids.isId(id) ? await runs.store.get(id) : undefined
    return stored && this.#describe(runs, stored)
  }

  async *follow(id: string, { after = 0, signal }: FollowOptions = {}): AsyncGenerator<DurableEvent> {
    const leaving = new AbortController()
    const leave = () => leaving.abort()
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted) leave()
    try {
      const runs = await this.#open()
      const log = runs.read(await this.#get(runs, id), leaving.signal)
      const reader = new EventReader(id)
      while (!leaving.signal.aborted) {
        const steps = await raceAbort(log.read(reader.count), leaving.signal).catch(ignoreAfter(leaving.signal))
        if (steps.length === 0) return
        for (const event of reader.read(steps)) if (event.number > after) yield event
        if (isEnd(steps.at(-1))) return
      }
    } finally {
      signal?.removeEventListener('abort', leave)
      leave()
    }
  }

  async outcome(id: string, signal?: AbortSignal): Promise<RunOutcome> {
    for await (const event of this.follow(id, signal && { signal })) void event
    const info = await this.find(id)
    if (info?.status === 'completed' || info?.status === 'waiting') return info
    throw new HostError('AGENT_FAILED', info?.error ?? 'Agent execution failed')
  }

  async answer(answers: ReadonlyMap<string, GivenAnswer>, by: string): Promise<AnsweredRun> {
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

  async listWaiting({ limit = DEFAULT_PAGE, after }: WaitingRange = {}): Promise<WaitingPage> {
    const { approvals, unreadable } = await this.#open()
    const range = { onlyOpen: true, limit, order: 'asc', after } as const
    const { approvals: found, hasMore } = await approvals.list(range, unreadable)
    const waiting = found.map(({ id, runId, agent, pending: call, createdAt, expiresAt }) => {
      return { id, runId, agent, call, createdAt, expiresAt }
    })
    return { waiting, hasMore }
  }

  async #open(): Promise<Runs> {
    return (await this.#options.service.open()).of(this.#options.tenant)
  }

  /** @throws HostError `RESPONSE_NOT_FOUND` */
  async #get(runs: Runs, id: string): Promise<StoredRun> {
    const stored = this.#options.service.ids.isId(id) ? await runs.store.get(id) : undefined
    if (!stored) throw notFound()
    return stored
  }

  /** Goes on with results of the client's tools: the agent asks again for what has no answer beside them. */
  async #goOn(runs: Runs, given: ReadonlyMap<string, GivenAnswer>, by: string): Promise<AnsweredRun> {
    const { host, service, tenant } = this.#options
    const [first = ''] = given.keys()
    const waitingId = runIdOf(first)
    const waiting = service.ids.isId(waitingId) ? await runs.store.load(waitingId) : undefined
    if (!waiting?.hasEnded || !isAdapterFacts(waiting.row.facts)) throw callNotFound()
    const { facts } = waiting.row
    const { agent } = facts
    const read = readAnswers(waiting.turn, given)
    if ((await this.find(waitingId))?.status !== 'waiting') throw alreadyAnswered()
    const [id, createdAt] = [service.ids.next(), nowSeconds()]
    const decided = await readDecided(runs.approvals, waiting.turn)
    const joined = await joinWaiting(runs, waiting.turn, decided, { id, agent, answers: read, by })
    const { approvalTtl, isRestartSafe = false } = host.resolve(agent).agent
    const job: Job = {
      ...{ agent, options: { ...facts.options, background: true }, shows: ADAPTER_EVENTS },
      ...{ answers: joined?.answers ?? read, isRestartSafe, approvalTtl },
    }
    const turn = makeTurn(id, createdAt, [], waiting.turn, waiting.turn.pending)
    host.check(agent, toTurn(tenant, turn, job, await service.readMessages(tenant, turn, job)))
    const next = { ...facts, createdAt, previousId: waitingId, options: job.options }
    try {
      await this.#enqueue(runs, { id, facts: next, turn, earlier: [], ...joined }, job)
    } catch (error) {
      throw error instanceof RequestRepeated ? alreadyAnswered() : error
    }
    return { continuedBy: id, open: [] }
  }

  async #enqueue(
    runs: Runs,
    draft: Omit<Parameters<Runs['enqueue']>[0], 'items' | 'idempotency'>,
    job: Job,
  ): Promise<StoredRunInfo> {
    return this.#describe(runs, await runs.enqueue({ items: [], idempotency: undefined, ...draft }, job))
  }

  async #describe(runs: Runs, { id, facts, steps, isQueued }: StoredRun): Promise<StoredRunInfo> {
    const last = steps.at(-1)
    const end = isEnd(last) ? last : undefined
    const pending = steps.flatMap((step) => (typeof step === 'object' && 'pending' in step ? [step.pending] : []))
    const read = end && pending.length > 0 ? await readOpen(runs, id, pending) : NOTHING_OPEN
    const { open, continuedBy } = end?.end === 'completed' ? read : { ...read, open: [] }
    const known = isAdapterFacts(facts) ? facts : undefined
    return {
      id,
      status: statusOf(end?.end, open.length > 0, isQueued),
      text: answerOf(steps),
      open,
      continuedBy,
      previousId: known?.previousId ?? null,
      agent: known?.agent ?? null,
      data: known?.adapter === this.#options.adapter ? known.data : null,
      createdAt: secondsOf(id),
      endedAt: end?.at ?? null,
      usage: end?.usage ?? NO_USAGE,
      incompleteReason: end?.incomplete,
      error: end?.error,
    }
  }
}

const NOTHING_OPEN = Object.freeze({ open: [], continuedBy: null })

/** Reads what is still open of a run that has ended waiting: nothing once another continues it. */
async function readOpen(
  runs: Runs,
  id: string,
  pending: readonly PendingCall[],
): Promise<Pick<StoredRunInfo, 'open' | 'continuedBy'>> {
  const approvals = await runs.approvals.ofRun(id)
  const next = approvals.length > 0 ? approvals.find(isContinued)?.continuedBy : await runs.store.nextOf(id)
  if (next) return { open: [], continuedBy: next }
  const all = pending.map((call, index) => ({ id: approvalId(id, index), call }))
  const isOpen = ({ id, call }: OpenCall) =>
    call.kind === 'client_tool' || approvals.some((approval) => approval.id === id && approval.status === 'pending')
  return { open: all.filter(isOpen), continuedBy: null }
}

function isContinued({ continuedBy }: StoredApproval): boolean {
  return continuedBy !== null
}

function waitsForClient({ open }: StoredRunInfo): boolean {
  return open.length > 0 && open.every(({ call }) => call.kind === 'client_tool')
}

/**
 * Takes the decisions about a run that waits, with those of others. One that waits for its client alone is claimed: answers continue it
 * once, and messages after the first run that continues it are branches of the conversation.
 *
 * @throws HostError `APPROVAL_DECIDED` for answers when another run continues it
 */
async function joinWaiting(
  runs: Runs,
  turn: StoredTurn,
  { approvals }: Decided,
  continuing: Continuing,
): Promise<Joined | undefined> {
  const joined = joinDecisions(approvals, turn, continuing)
  const { id, answers } = continuing
  if (answers && joined?.isBranch) throw alreadyAnswered()
  const { response_id: runId, pending = [] } = turn
  if (joined || pending.length === 0) return joined
  if (!answers && (await runs.store.nextOf(runId)) !== undefined) return undefined
  return { answers, claim: claimContinued(runId, id), resumes: { runId, approvals: [] }, isBranch: false }
}

function statusOf(
  end: 'completed' | 'failed' | 'cancelled' | undefined,
  isWaiting: boolean,
  isQueued: boolean,
): StoredRunStatus {
  if (end === undefined) return isQueued ? 'queued' : 'in_progress'
  return isWaiting ? 'waiting' : end
}

async function readEarlier(runs: Runs, id: string, budget: HistoryBudget): Promise<LoadedConversation> {
  const stored = await runs.store.get(id)
  const earlier = stored && (await runs.store.conversation(id, { budget }))
  if (!earlier) throw notFound()
  if (isEnd(stored.steps.at(-1))) return earlier
  throw new HostError('RESPONSE_CONFLICT', 'The run is still in progress')
}

/** @throws HostError `APPROVAL_NOT_FOUND`; `REQUEST_INVALID` for an answer that does not fit, and a missing result of a client's tool */
function readAnswers(
  { response_id: runId, pending = [] }: StoredTurn,
  given: ReadonlyMap<string, GivenAnswer>,
): PendingAnswer[] {
  const calls = new Map(pending.map((call, index) => [approvalId(runId, index), call]))
  const unknownId = [...given.keys()].find((id) => !calls.has(id))
  if (unknownId !== undefined) throw callNotFound()
  const time = new CheckTime()
  return [...calls].flatMap(([id, call]) => {
    const answer = given.get(id)
    if (answer) return [fit(call, { ...answer, callId: call.callId }, time)]
    if (call.kind !== 'client_tool') return []
    throw new HostError('REQUEST_INVALID', `The call '${call.name}' has no result: send those of all client tools.`)
  })
}

function fit(call: PendingCall, answer: PendingAnswer, time: CheckTime): PendingAnswer {
  const problem = findAnswerProblem(call, answer, time)
  if (problem !== undefined) throw new HostError('REQUEST_INVALID', problem)
  return answer
}

/** Returns a handler that takes the rejection of what an abort has ended as nothing more to read. */
function ignoreAfter(signal: AbortSignal): (error: unknown) => readonly Step[] {
  return (error) => {
    if (signal.aborted) return []
    throw error
  }
}

function notFound(): HostError {
  return new HostError('RESPONSE_NOT_FOUND', 'Run not found')
}

function callNotFound(): HostError {
  return new HostError('APPROVAL_NOT_FOUND', 'No such call waits')
}

function alreadyAnswered(): HostError {
  return new HostError('APPROVAL_DECIDED', 'The calls are already answered')
}
