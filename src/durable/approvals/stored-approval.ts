import type { PendingAnswer, PendingCall } from '../../run/waiting/pending-call.ts'
import type { ApprovalStatus } from '../../wire/approval.ts'

/** Call of a waiting run that a person decides. */
export interface StoredApproval {
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
  readonly decision: StoredDecision | null
  /** The run that continues with the decision; null until it starts. */
  readonly continuedBy: string | null
  /** True where its decision is no event for webhooks. */
  readonly isSilent?: boolean
}

export interface StoredDecision {
  readonly answer: PendingAnswer
  /** Name of the key, or of the place, that decided. */
  readonly by: string
  /** Unix seconds. */
  readonly at: number
}
