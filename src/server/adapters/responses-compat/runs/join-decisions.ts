import { type Approvals, approvalId, closeOpen } from '../../../../durable/approvals/approvals.ts'
import type { Claim } from '../../../../durable/claim.ts'
import type { StoredTurn } from '../../../../durable/conversations/conversation-tree.ts'
import { answersOf, type Resumes, resume, takeDecisions } from '../../../../durable/resumption.ts'
import type { PendingAnswer } from '../../../../run/state/pending-call.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'

/** Request that continues a waiting response. */
export interface Continuing {
  /** Id of the new response. */
  readonly id: string
  readonly model: string
  /** Answers of the request; undefined for a plain message, which rejects open calls. */
  readonly answers: readonly PendingAnswer[] | undefined
  /** Sender of the request, who may decide. */
  readonly by: string
}

/** Answers with which a request continues a waiting response, and the claim that makes it the only one. */
export interface Joined {
  readonly answers: readonly PendingAnswer[] | undefined
  readonly claim: Claim
  readonly resumes: Resumes
}

/**
 * Takes the decisions of a request, and those of others. What is still open is superseded: the new response asks again.
 *
 * @returns undefined for a response that waits for no person
 * @throws HostError `APPROVAL_DECIDED`, `REQUEST_INVALID` for decisions that are sent to another agent
 */
export async function joinDecisions(
  approvals: Approvals,
  { response_id: runId, pending = [] }: StoredTurn,
  { id, model, answers, by }: Continuing,
): Promise<Joined | undefined> {
  if (pending.every(({ kind }) => kind === 'client_tool')) return undefined
  const before = await approvals.ofRun(runId)
  if (before.length === 0) return undefined
  const superseded = (all: typeof before) => resume(before, closeOpen(all, 'superseded'), id)
  if (!answers) return { answers, ...superseded(before) }
  const outputs = answers.filter(({ kind }) => kind === 'client_tool')
  const decisions = answers.filter(({ kind }) => kind !== 'client_tool')
  const agent = before[0]?.agent
  if (agent !== model) {
    throw invalidField('model', `must be '${agent}', the agent that waits for the decision`)
  }
  const byId = decisions.map(({ callId, ...answer }) => {
    const index = pending.findIndex((call) => call.callId === callId)
    return [approvalId(runId, index), answer] as const
  })
  const after = takeDecisions(before, new Map(byId), by)
  return { answers: [...outputs, ...answersOf(after)], ...superseded(after) }
}
