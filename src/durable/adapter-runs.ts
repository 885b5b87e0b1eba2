import { HostError } from '../errors.ts'
import type { AgentHost } from '../host/host.ts'
import type { WaitingOptions } from '../host/waiting-run.ts'
import type { Usage } from '../protocols/run.ts'
import { NO_USAGE } from '../protocols/usage.ts'
import type { PendingCall } from '../run/state/pending-call.ts'
import type { RunResult, Turn } from '../run/turn.ts'
import { approvalId } from './approvals/approvals.ts'
import { openWaiting } from './approvals/open-waiting.ts'
import { makeTurn } from './conversations/conversation-tree.ts'
import type { DurableRuns } from './durable-runs.ts'
import { SHOWN_AFTER_DECISION } from './queue/job.ts'
import type { Decisions } from './resumption.ts'
import type { RunService } from './run-service.ts'
import type { AdapterFacts } from './runs/run-facts.ts'
import { answerOf, isEnd, nowSeconds, type Step } from './runs/steps.ts'

/** Run of the host that waits for a person, as it is stored. */
export interface KeptRun extends WaitingOptions, Pick<Turn, 'messages'> {
  /** Name of the agent in the request: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly result: RunResult
}

/** Call that waits for a person, under the id of its approval. */
export interface OpenApproval {
  readonly id: string
  readonly call: PendingCall
}

/** State of a run after a decision. */
export interface ResumedRun {
  /** Id of the run that continues; null while something else is open. */
  readonly continuedBy: string | null
  readonly open: readonly OpenApproval[]
}

/** Answer of a run that has ended well; `open` is what it waits for. */
export interface RunOutcome {
  readonly text: string
  readonly usage: Readonly<Usage>
  readonly incompleteReason: string | undefined
  readonly open: readonly OpenApproval[]
}

/** Durable runs of a project as one adapter uses them. */
export class AdapterRuns {
  readonly #service: RunService
  readonly #host: AgentHost
  readonly #adapter: string

  /** @param adapter name under which data of the adapter is stored */
  constructor(service: RunService, host: AgentHost, adapter: string) {
    this.#service = service
    this.#host = host
    this.#adapter = adapter
  }

  /** Returns the runs of a tenant: nothing of another exists in them. */
  of(tenant: string): TenantRuns {
    const open = async () => (await this.#service.open()).of(tenant)
    return new TenantRuns({ open, ids: this.#service.ids, host: this.#host, adapter: this.#adapter })
  }
}

interface TenantRunsOptions extends Pick<RunService, 'ids'> {
  readonly open: () => Promise<DurableRuns<object, unknown>>
  readonly host: AgentHost
  readonly adapter: string
}

/** Durable runs of one tenant. */
export class TenantRuns {
  readonly #options: TenantRunsOptions

  constructor(options: TenantRunsOptions) {
    this.#options = options
  }

  /**
   * Stores a run of the host that waits, so that a decision continues it.
   *
   * @returns its approvals, in the order of its pending calls
   */
  async keep({ agent, messages, result, ...given }: KeptRun): Promise<readonly OpenApproval[]> {
    const { open, ids, host, adapter } = this.#options
    const runs = await open()
    const { text, pending, usage, trail } = result
    const id = ids.next()
    const createdAt = nowSeconds()
    const { tenant: _tenant, ...options } = given
    const facts: AdapterFacts = { adapter, agent, createdAt, previousId: null, options, data: {} }
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
    return toOpen(id, pending)
  }

  /**
   * Decides calls of one run; the last decision continues it.
   *
   * @throws HostError `REQUEST_INVALID`, `APPROVAL_NOT_FOUND`, `APPROVAL_DECIDED`, `OVERLOADED`, `SHUTTING_DOWN`, `AGENT_NOT_FOUND`,
   *   `STORE_UNAVAILABLE`: then they stay open
   */
  async decide(decisions: Decisions, by: string): Promise<ResumedRun> {
    const { approvals, continuedBy } = await (await this.#options.open()).deciding.decide(decisions, by)
    const open = approvals.filter(({ status }) => status === 'pending')
    return { continuedBy, open: open.map(({ id, pending: call }) => ({ id, call })) }
  }

  /**
   * Waits for the end of a run.
   *
   * @throws HostError `RESPONSE_NOT_FOUND`; `AGENT_FAILED` for a run that has not ended well
   */
  async outcome(id: string, signal: AbortSignal): Promise<RunOutcome> {
    const runs = await this.#options.open()
    const stored = await runs.store.get(id)
    if (!stored) throw new HostError('RESPONSE_NOT_FOUND', 'Response not found')
    const log = runs.read(stored, signal)
    const steps: Step[] = []
    for (let more = await log.read(0); more.length > 0; more = await log.read(steps.length)) {
      steps.push(...more)
      if (isEnd(steps.at(-1))) break
    }
    const end = steps.at(-1)
    if (!isEnd(end) || end.end !== 'completed') {
      throw new HostError('AGENT_FAILED', (isEnd(end) && end.error) || 'Agent execution failed')
    }
    const pending = steps.flatMap((step) => (typeof step === 'object' && 'pending' in step ? [step.pending] : []))
    return {
      text: answerOf(steps),
      usage: end.usage ?? NO_USAGE,
      incompleteReason: end.incomplete,
      open: toOpen(id, pending),
    }
  }
}

function toOpen(id: string, pending: readonly PendingCall[]): OpenApproval[] {
  return pending.map((call, index) => ({ id: approvalId(id, index), call }))
}
