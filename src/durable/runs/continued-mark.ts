import { HostError } from '../../errors.ts'
import type { Change, RecordStore } from '../../store/record-store.ts'
import type { Claim } from '../decisions/claim.ts'
import { markAgain, type TakenDecisions } from '../decisions/resumption.ts'
import { continuedKey } from './run-keys.ts'
import { unmarkWaiting } from './waiting-mark.ts'

/**
 * Claims a run that waits for its client alone, and so has no approvals: one run continues it, or its cancellation.
 *
 * @param nextId run that continues; null for a cancellation
 */
export function claimContinued(id: string, nextId: string | null): Claim {
  const key = continuedKey(id)
  const changes: Change[] = [[key, JSON.stringify(nextId)], unmarkWaiting(id)]
  return { changes, equal: [], absent: [key] }
}

/** Inverse of {@link claimContinued}, for a run that failed before a call of it may have begun. */
export function giveBackContinued(taken: TakenDecisions, nextId: string): Claim {
  const key = continuedKey(taken.runId)
  return { changes: [[key, undefined], ...markAgain(taken)], equal: [[key, JSON.stringify(nextId)]] }
}

/** Returns the run that has claimed one; null for a cancellation, undefined if there is no claim. */
export async function readContinued(records: RecordStore, id: string): Promise<string | null | undefined> {
  const [text] = await records.get([continuedKey(id)])
  return text === undefined ? undefined : (JSON.parse(text) as string | null)
}

/** Error of an answer to calls of a run that was cancelled. */
export function wasCancelled(): HostError {
  return new HostError('APPROVAL_DECIDED', 'The calls were cancelled: send a message instead')
}

/** Error of an answer to calls that another run continues with. */
export function alreadyAnswered(): HostError {
  return new HostError('APPROVAL_DECIDED', 'The calls are already answered')
}
