import { HostError } from '../../errors.ts'
import { type Log, silentLog } from '../../protocols/log.ts'
import { bindAnswer, type PendingAnswer, type PendingCall } from '../../run/state/pending-call.ts'
import { findAnswerProblem } from '../../run/state/settle-answers.ts'
import type { Change, Entry, RecordStore } from '../../store/record-store.ts'
import { parseRow, ROW_VERSION } from '../parse-row.ts'
import { nowSeconds } from '../runs/steps.ts'

/** State of an approval or a question. All but `pending` are final. */
export type ApprovalStatus =
  | 'pending'
  | 'approved'
  | 'edited'
  | 'rejected'
  | 'answered'
  | 'expired'
  | 'cancelled'
  | 'superseded'

/** Call of a waiting run that a person decides. */
export interface Approval {
  readonly version: number
  readonly id: string
  /** The run that waits. */
  readonly runId: string
  /** Name of the agent in the request: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly pending: PendingCall
  /** Unix seconds. */
  readonly createdAt: number
  /** Unix seconds; null for one that does not expire. */
  readonly expiresAt: number | null
  readonly status: ApprovalStatus
  readonly decision: Decision | null
  /** The run that continues with the decision; null until it starts. */
  readonly continuedBy: string | null
}

export interface Decision {
  readonly answer: PendingAnswer
  /** Name of the key, or of the place, that decided. */
  readonly by: string
  /** Unix seconds. */
  readonly at: number
}

/** Changes that say who goes on with decisions, and the records that must be as they were. */
export interface Claim {
  readonly changes: readonly Change[]
  readonly equal: readonly Entry[]
}

/** Both claims as one. */
export function joinClaims(one: Claim | undefined, other: Claim | undefined): Claim | undefined {
  if (!one || !other) return one ?? other
  return { changes: [...one.changes, ...other.changes], equal: [...one.equal, ...other.equal] }
}

/** Facts of a run whose approvals are opened. */
export interface WaitingRun {
  readonly runId: string
  readonly agent: string
  readonly pending: readonly PendingCall[]
  readonly createdAt: number
  /** Seconds; undefined for approvals that do not expire. */
  readonly ttl: number | undefined
}

const APPROVALS = 'approval:'
/** Index of those that wait for a decision. */
const OPEN = 'open-approval:'
/** Index of those that expire, in the order in which they do: nobody reads the others to find them. */
const EXPIRING = 'expiring-approval:'
/** Runs with decisions that nobody may have gone on with yet. */
const DECIDED = 'decided-run:'
const PAGE = 500
const MAX_PER_RUN = 1000

/** Id of an approval: of its run, and its place among the run's pending calls. Grows with the run's. */
export function approvalId(runId: string, index: number): string {
  return `mcpr_${runId.slice(runId.indexOf('_') + 1)}-${String(index).padStart(3, '0')}`
}

/** Id of the run that an approval belongs to; `prefix` is that of such runs. */
export function runIdOf(approval: string, prefix: string): string {
  return prefix + approval.slice('mcpr_'.length, approval.lastIndexOf('-'))
}

/** Changes that open the approvals of a run, to be stored together with its end. Client tools need none. */
export function openApprovals({ runId, agent, pending, createdAt, ttl }: WaitingRun): Change[] {
  const expiresAt = ttl === undefined ? null : createdAt + Math.ceil(ttl)
  return pending.flatMap((call, index): Change[] => {
    if (call.kind === 'client_tool') return []
    const id = approvalId(runId, index)
    const fresh = { status: 'pending', decision: null, continuedBy: null } as const
    const row: Approval = { version: ROW_VERSION, id, runId, agent, pending: call, createdAt, expiresAt, ...fresh }
    const indexed = openKeysOf(row).map((key): Change => [key, JSON.stringify(null)])
    return [[APPROVALS + id, JSON.stringify(row)], ...indexed]
  })
}

/** Keys of the indexes that an approval is in until it is closed. */
function openKeysOf({ id, expiresAt }: Approval): string[] {
  return [OPEN + id, ...(expiresAt === null ? [] : [`${EXPIRING}${toSortable(expiresAt)}:${id}`])]
}

/** Unix seconds as a text that sorts like the number. */
function toSortable(seconds: number): string {
  return String(seconds).padStart(12, '0')
}

/** Records decisions on the calls of waiting runs. A call is decided once, even if two decisions race. */
export class Approvals {
  readonly #records: RecordStore
  readonly #log: Log

  constructor(records: RecordStore, log: Log = silentLog) {
    this.#records = records
    this.#log = log
  }

  /** @throws HostError `APPROVAL_NOT_FOUND` */
  async get(id: string): Promise<Approval> {
    const [text] = isApprovalId(id) ? await this.#records.get([APPROVALS + id]) : []
    if (text === undefined) throw new HostError('APPROVAL_NOT_FOUND', 'Approval not found')
    return parseApproval(id, text)
  }

  /** Approvals of one run, in the order of its calls. */
  async ofRun(runId: string): Promise<Approval[]> {
    const prefix = APPROVALS + approvalId(runId, 0).slice(0, -3)
    const entries = await this.#records.entries({ prefix, limit: MAX_PER_RUN })
    return entries.map(([key, text]) => parseApproval(key.slice(APPROVALS.length), text))
  }

  /** A page of approvals; those that wait for a decision alone, or all. */
  async list({
    onlyOpen,
    limit,
    order,
    after,
  }: {
    readonly onlyOpen: boolean
    readonly limit: number
    readonly order: 'asc' | 'desc'
    readonly after: string | undefined
  }): Promise<{ approvals: Approval[]; hasMore: boolean }> {
    const prefix = onlyOpen ? OPEN : APPROVALS
    const bound = after === undefined ? {} : { [order === 'asc' ? 'after' : 'before']: prefix + after }
    const keys = await this.#records.list({ prefix, order, limit: limit + 1, ...bound })
    const ids = keys.slice(0, limit).map((key) => key.slice(prefix.length))
    const texts = await this.#records.get(ids.map((id) => APPROVALS + id))
    const approvals = ids.flatMap((id, index) => {
      const text = texts[index]
      return text === undefined ? [] : [parseApproval(id, text)]
    })
    return { approvals, hasMore: keys.length > limit }
  }

  /**
   * Decides a call. Of several deciders one wins.
   *
   * @throws HostError `APPROVAL_NOT_FOUND`, `APPROVAL_DECIDED` when it was decided before, `REQUEST_INVALID` for an answer that does not fit
   */
  async decide(id: string, answer: DistributiveOmit<PendingAnswer, 'callId'>, by: string): Promise<Approval> {
    const approval = await this.get(id)
    const { pending, status, expiresAt } = approval
    if (status !== 'pending' || isExpired(expiresAt)) throw alreadyDecided(isExpired(expiresAt) ? 'expired' : status)
    const whole = { ...answer, callId: pending.callId } as PendingAnswer
    const problem = findAnswerProblem(pending, whole)
    if (problem !== undefined) throw new HostError('REQUEST_INVALID', problem)
    const at = nowSeconds()
    const decision = { answer: bindAnswer(whole.kind === 'approval' ? { ...whole, by, at } : whole, pending), by, at }
    const decided = await this.#close(approval, { status: statusOf(whole), decision }, [
      [DECIDED + approval.runId, JSON.stringify(null)],
    ])
    if (!decided) throw alreadyDecided((await this.get(id)).status)
    this.#log.info(`Approval ${id}: ${decided.status} by ${by}, ${pending.name} of ${approval.agent}`)
    return decided
  }

  /** Gives up the open approvals of a run: it was deleted, or the conversation went on without an answer. */
  async giveUp(runId: string, status: 'cancelled' | 'superseded'): Promise<void> {
    for (const approval of await this.ofRun(runId)) {
      if (approval.status === 'pending') await this.#close(approval, { status })
    }
  }

  /**
   * Changes and conditions under which a run goes on with these decisions: each starts one run, however often it is tried.
   *
   * @param approvals as they were read
   */
  claim(approvals: readonly Approval[], continuedBy: string): Claim {
    return {
      changes: approvals.map(
        (approval): Change => [APPROVALS + approval.id, JSON.stringify({ ...approval, continuedBy })],
      ),
      equal: approvals.map((approval) => [APPROVALS + approval.id, JSON.stringify(approval)]),
    }
  }

  /** Removes the approvals of a deleted run. */
  async remove(runId: string): Promise<void> {
    const approvals = await this.ofRun(runId)
    const keys = approvals.flatMap((approval) => [APPROVALS + approval.id, ...openKeysOf(approval)])
    keys.push(DECIDED + runId)
    if (approvals.length > 0) await this.#records.commit(keys.map((key): Change => [key, undefined]))
  }

  /** Runs with decisions that may still have to be carried out. */
  async listDecided(): Promise<string[]> {
    const keys = await this.#records.list({ prefix: DECIDED, limit: PAGE })
    return keys.map((key) => key.slice(DECIDED.length))
  }

  /** The decisions of a run are carried out. */
  async settle(runId: string): Promise<void> {
    await this.#records.commit([[DECIDED + runId, undefined]])
  }

  /** Closes the approvals that nobody decided in time. Reads no others. */
  async expire(): Promise<void> {
    const before = `${EXPIRING}${toSortable(nowSeconds() + 1)}`
    for (let page: string[] = []; ; ) {
      const after = page.at(-1)
      page = await this.#records.list({ prefix: EXPIRING, before, limit: PAGE, ...(after ? { after } : {}) })
      for (const key of page) await this.#expire(key)
      if (page.length < PAGE) return
    }
  }

  async #expire(key: string): Promise<void> {
    const id = key.slice(key.lastIndexOf(':') + 1)
    try {
      const approval = await this.get(id)
      // Decided at this moment.
      if (approval.status === 'pending') await this.#close(approval, { status: 'expired' })
    } catch (error) {
      // One that cannot be read holds up no other.
      if (!(error instanceof HostError) || error.code === 'STORE_UNAVAILABLE') throw error
    }
  }

  /** Undefined when another was quicker. */
  async #close(
    approval: Approval,
    change: Partial<Approval>,
    further: readonly Change[] = [],
  ): Promise<Approval | undefined> {
    const key = APPROVALS + approval.id
    const closed = { ...approval, ...change }
    const closing = openKeysOf(approval).map((open): Change => [open, undefined])
    const changes: Change[] = [[key, JSON.stringify(closed)], ...closing, ...further]
    return (await this.#records.commit(changes, { equal: [[key, JSON.stringify(approval)]] })) ? closed : undefined
  }
}

type DistributiveOmit<T, K extends keyof T> = T extends unknown ? Omit<T, K> : never

function parseApproval(id: string, text: string): Approval {
  return parseRow<Approval>(id, text)
}

function isApprovalId(text: string): boolean {
  return /^mcpr_[0-9a-f-]{40}$/.test(text)
}

function isExpired(expiresAt: number | null): boolean {
  return expiresAt !== null && expiresAt <= nowSeconds()
}

function statusOf(answer: PendingAnswer): ApprovalStatus {
  if (answer.kind !== 'approval') return 'answered'
  return answer.decision === 'approve' ? 'approved' : answer.decision === 'edit' ? 'edited' : 'rejected'
}

function alreadyDecided(status: ApprovalStatus): HostError {
  return new HostError('APPROVAL_DECIDED', `The approval is already ${status}`)
}
