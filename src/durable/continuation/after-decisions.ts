import { HostError } from '../../errors.ts'
import { approvalId } from '../approvals/approvals.ts'
import type { StoredApproval } from '../approvals/stored-approval.ts'
import type { Decisions } from '../decisions/resumption.ts'
import { type AnswerSource, nextAfterAnswers } from './after-answers.ts'
import { type BeforeSource, loadBefore } from './before.ts'
import type { NextRun } from './next.ts'

/** Decisions about the calls that a run waits for, and who decided. */
export interface DecidedCalls {
  readonly runId: string
  /** Approvals of the run, as they were read. */
  readonly approvals: readonly StoredApproval[]
  readonly decisions: Decisions
  readonly by: string
}

/**
 * Makes the run that goes on after decisions; undefined where its client has to answer, too.
 *
 * @param id of that run
 * @throws HostError `RESPONSE_NOT_FOUND`, `AGENT_NOT_FOUND`, `RECORD_UNREADABLE`; as {@link nextAfterAnswers}
 */
export async function nextAfterDecisions(
  source: BeforeSource & AnswerSource,
  { runId, approvals, decisions, by }: DecidedCalls,
  id: string,
): Promise<NextRun | undefined> {
  const before = await loadBefore(source, runId, { findsNamed: true, approvals })
  if (!before?.facts) throw new HostError('RESPONSE_NOT_FOUND', 'Response not found')
  const { pending = [] } = before.conversation.last
  if (pending.length > approvals.length) return undefined
  const answers = pending.flatMap(({ callId }, index) => {
    const answer = decisions.get(approvalId(runId, index))
    return answer ? [{ ...answer, callId }] : []
  })
  return nextAfterAnswers(source, { ...before, facts: before.facts }, { id, answers, by, background: true })
}
