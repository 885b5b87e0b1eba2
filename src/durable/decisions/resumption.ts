import { badRequest, HostError } from '../../errors.ts'
import { nowSeconds } from '../../now-seconds.ts'
import { CheckTime } from '../../run/checks/check-time.ts'
import { bindAnswer, type GivenAnswer, type PendingAnswer } from '../../run/waiting/pending-call.ts'
import { findAnswerProblem } from '../../run/waiting/settle-answers.ts'
import type { Change } from '../../store/record-store.ts'
import type { ApprovalStatus } from '../../wire/approval.ts'
import { approvalNotFound, claimOf } from '../approvals/approvals.ts'
import type { StoredApproval } from '../approvals/stored-approval.ts'
import { isEnd, isOfCall, type Step } from '../runs/steps.ts'
import { markWaiting } from '../runs/waiting-mark.ts'
import type { Claim } from './claim.ts'

/** Answers of a person, by the ids of the approvals. */
export type Decisions = ReadonlyMap<string, GivenAnswer>

/** Decisions that a run took, as its row keeps them: they can be given back. */
export interface TakenDecisions {
  /** The run that waited. */
  readonly runId: string
  /** Ids of the approvals that were open until then. */
  readonly approvals: readonly string[]
  /** True where it had a mark that lists it. */
  readonly isMarked?: boolean
}

/**
 * Takes decisions about the calls of one run; approvals whose time is over count as expired. Writes nothing.
 *
 * @param approvals all of the run
 * @returns all of them afterwards, in the same order
 * @throws HostError `APPROVAL_NOT_FOUND`, `APPROVAL_DECIDED` when it was decided before, `REQUEST_INVALID` for an answer that does not fit
 */
export function takeDecisions(
  approvals: readonly StoredApproval[],
  decisions: Decisions,
  by: string,
): StoredApproval[] {
  for (const id of decisions.keys()) {
    if (!approvals.some((approval) => approval.id === id)) throw approvalNotFound()
  }
  const time = new CheckTime()
  return approvals.map((approval) => {
    const current: StoredApproval = isLate(approval) ? { ...approval, status: 'expired' } : approval
    const answer = decisions.get(approval.id)
    return answer ? decide(current, answer, by, time) : current
  })
}

/** Tells whether an open approval was to be decided until now. */
export function isLate({ status, expiresAt }: StoredApproval): boolean {
  return status === 'pending' && expiresAt !== null && expiresAt <= nowSeconds()
}

function decide(approval: StoredApproval, answer: GivenAnswer, by: string, time: CheckTime): StoredApproval {
  const { pending, status } = approval
  if (status === 'expired') throw hasExpired()
  if (status !== 'pending') throw new HostError('APPROVAL_DECIDED', `The approval is already ${status}`)
  const whole: PendingAnswer = { ...answer, callId: pending.callId }
  const problem = findAnswerProblem(pending, whole, time)
  if (problem !== undefined) throw badRequest(problem)
  const at = nowSeconds()
  const decision = { answer: bindAnswer(whole.kind === 'approval' ? { ...whole, by, at } : whole, pending), by, at }
  return { ...approval, status: statusOf(whole), decision }
}

/** Error of a decision that comes too late. */
export function hasExpired(): HostError {
  return new HostError('APPROVAL_DECIDED', 'The approval has expired')
}

function statusOf(answer: PendingAnswer): ApprovalStatus {
  if (answer.kind !== 'approval') return 'answered'
  return answer.decision === 'approve' ? 'approved' : answer.decision === 'edit' ? 'edited' : 'rejected'
}

/** Tells whether a run can continue: none of its approvals is open, and at least one call has an answer. */
export function isDecided(approvals: readonly StoredApproval[]): boolean {
  return approvals.every(({ status }) => status !== 'pending') && approvals.some(hasAnswer)
}

/** Tells whether an approval is decided, or stands beside calls that were answered before. */
function hasAnswer({ decision, pending }: StoredApproval): boolean {
  return decision !== null || pending.beside !== undefined
}

/** Decisions as answers; approvals that expired meanwhile count as rejected. */
export function answersOf(approvals: readonly StoredApproval[]): PendingAnswer[] {
  return approvals.flatMap((approval) => (approval.decision ? [approval.decision.answer] : expiryOf(approval)))
}

/** Answer of an approval that has expired. */
export function expiryOf({ status, pending: { callId } }: StoredApproval): PendingAnswer[] {
  return status === 'expired'
    ? [{ callId, kind: 'approval', decision: 'reject', reason: 'No one decided in time.' }]
    : []
}

/**
 * Claim by which one run continues with these decisions. Commit it together with the row of that run: of several attempts one succeeds.
 *
 * @param before approvals of the run that waits, as they were read
 * @param after the same, decided
 * @param nextId id of the run that continues
 */
export function resume(
  before: readonly StoredApproval[],
  after: readonly StoredApproval[],
  nextId: string,
): { readonly claim: Claim; readonly resumes: TakenDecisions } {
  // A message to a run that another continues already is a branch of the conversation: the decision stays that one's.
  const continued = after.map(
    (approval): StoredApproval => ({ ...approval, continuedBy: approval.continuedBy ?? nextId }),
  )
  const closed = before.filter(({ status }, index) => status === 'pending' && after[index]?.status !== 'expired')
  // Where a run continues because the last open approval expired, the decisions made before are those to give back.
  const taken = closed.length > 0 ? closed : after.filter(({ decision }) => decision !== null)
  const resumes = { runId: before[0]?.runId ?? '', approvals: taken.map(({ id }) => id) }
  return { claim: claimOf(before, continued), resumes }
}

/**
 * Inverse of {@link resume}: reopens the approvals that the run took. Decisions made before it stay.
 *
 * @param approvals of the run that waited, as they are now
 * @param nextId id of the run that gives them back
 */
export function giveBack(approvals: readonly StoredApproval[], taken: TakenDecisions, nextId: string): Claim {
  const open = { status: 'pending', decision: null, continuedBy: null } as const
  const after = approvals.map((approval): StoredApproval => {
    if (approval.continuedBy !== nextId) return approval
    return taken.approvals.includes(approval.id) ? { ...approval, ...open } : { ...approval, continuedBy: null }
  })
  const { changes, equal } = claimOf(approvals, after)
  return { changes: [...changes, ...markAgain(taken)], equal }
}

/** Change that lists a run again which waits again. */
export function markAgain({ isMarked, runId }: TakenDecisions): Change[] {
  return isMarked ? [markWaiting(runId)] : []
}

/** Tells whether a run failed before a call of it may have begun: its decisions are then given back. */
export function hasFailedUnacted(steps: readonly Step[]): boolean {
  const last = steps.at(-1)
  return isEnd(last) && last.end === 'failed' && !hasActed(steps)
}

/** Tells whether a call may have begun: the decision about it is then spent. */
export function hasActed(steps: readonly Step[]): boolean {
  return steps.some(isOfCall)
}
