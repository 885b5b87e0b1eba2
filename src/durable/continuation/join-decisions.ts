import { badRequest } from '../../errors.ts'
import type { PendingAnswer, PendingCall } from '../../run/waiting/pending-call.ts'
import { approvalId, approvalNotFound, closeOpen } from '../approvals/approvals.ts'
import type { StoredApproval } from '../approvals/stored-approval.ts'
import type { Claim } from '../decisions/claim.ts'
import { answersOf, expiryOf, resume, type TakenDecisions, takeDecisions } from '../decisions/resumption.ts'

/** Request that continues a waiting run. */
export interface Continuing {
  /** Id of the new run. */
  readonly id: string
  /** Name of the agent that is to go on. */
  readonly agent: string
  /** Answers of the request; undefined for a plain message, which rejects open calls. */
  readonly answers: readonly PendingAnswer[] | undefined
  /** Sender of the request, who may decide. */
  readonly by: string
}

/** Answers with which a request continues a waiting run, and the claim that makes it the only one. */
export interface Joined {
  readonly answers: readonly PendingAnswer[] | undefined
  readonly claim: Claim
  readonly resumes: TakenDecisions
  /** True where another run continues the waiting one already. */
  readonly isBranch: boolean
}

/** Problem of a decision that is sent together with a message. */
export const DECISION_FIRST =
  'a message rejects what waits for a person: send the decision first, and the message after that.'

/** Tells whether any of the calls waits for a person, or any of the answers comes from one. */
export function waitsForPerson(pending: readonly Pick<PendingCall, 'kind'>[]): boolean {
  return pending.some(({ kind }) => kind !== 'client_tool')
}

/** Tells whether decisions of a person stand beside calls that are still open: only one run may carry them out. */
export function keepsDecisions(pending: readonly PendingCall[]): boolean {
  return pending.some(({ beside = [] }) => beside.some(({ answer }) => answer.kind !== 'client_tool'))
}

/**
 * Takes the decisions of a request, and those of others. What is still open is superseded: the new run asks again.
 *
 * @param before approvals of the run that waits
 * @param pending calls that it waits for
 * @returns undefined for a run that waits for no person
 * @throws HostError `APPROVAL_DECIDED`, `APPROVAL_NOT_FOUND`, `REQUEST_INVALID` for decisions that are sent to another agent
 */
export function joinDecisions(
  before: readonly StoredApproval[],
  pending: readonly PendingCall[],
  { id, agent, answers, by }: Continuing,
): Joined | undefined {
  if (!waitsForPerson(pending)) return undefined
  const [first] = before
  if (!first) {
    // Deleted at this moment, or taken along by a run that failed with them: without a claim anything could go on with them.
    if (answers?.some(({ kind }) => kind !== 'client_tool')) throw approvalNotFound()
    return undefined
  }
  const isBranch = before.some(({ continuedBy }) => continuedBy !== null)
  const superseded = (all: typeof before) => ({ ...resume(before, closeOpen(all, 'superseded'), id), isBranch })
  if (!answers) return { answers, ...superseded(before) }
  const outputs = answers.filter(({ kind }) => kind === 'client_tool')
  const decisions = answers.filter(({ kind }) => kind !== 'client_tool')
  if (agent !== first.agent) {
    const message = `model must be '${first.agent}', the agent that waits for the decision`
    throw badRequest(message, { field: 'model' })
  }
  const byId = decisions.map(({ callId, ...answer }) => {
    const index = pending.findIndex((call) => call.callId === callId)
    return [approvalId(first.runId, index), answer] as const
  })
  const after = takeDecisions(before, new Map(byId), by)
  // In a branch the agent asks again: the decisions are those of the run that went on with them.
  return { answers: [...outputs, ...(isBranch ? after.flatMap(expiryOf) : answersOf(after))], ...superseded(after) }
}
