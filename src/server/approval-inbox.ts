import type { WaitingOptions } from '../host/waiting-run.ts'
import type { Usage } from '../protocols/run.ts'
import type { PendingCall } from '../run/state/pending-call.ts'
import type { RunResult, Turn } from '../run/turn.ts'

/** Run of a protocol that keeps nothing itself, which waits for a person. */
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

/** State of a kept run after a decision: its answer, unless something else of it is still open. */
export interface DecidedRun {
  readonly text: string
  readonly usage: Readonly<Usage>
  readonly incompleteReason: string | undefined
  readonly open: readonly OpenApproval[]
}

/** Inbox of waiting runs of every protocol, of one tenant: the store of responses. */
export interface ApprovalInbox {
  /** Stores a waiting run as a response. Its approvals have the order of its pending calls. */
  keep(run: KeptRun): Promise<readonly OpenApproval[]>
  /**
   * Decides calls of one run, and waits until it has gone on.
   *
   * @param decisions bodies of `POST /approvals/{id}`, by the ids of the approvals
   * @throws HostError `REQUEST_INVALID`, `APPROVAL_NOT_FOUND`, `APPROVAL_DECIDED`, `AGENT_FAILED`
   */
  decide(decisions: ReadonlyMap<string, unknown>, by: string, signal: AbortSignal): Promise<DecidedRun>
}

/** Place for the inbox: filled by the adapter that stores responses, where it is served. */
export interface InboxSlot {
  inboxOf?: (tenant: string) => ApprovalInbox
}
