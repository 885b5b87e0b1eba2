import { HostError } from '../../errors.ts'
import type { Approvals } from '../approvals/approvals.ts'
import type { StoredApproval } from '../approvals/stored-approval.ts'
import type { ConversationRecord, ConversationStore } from '../conversations/conversation-store.ts'
import type { LoadedConversation, LoadOptions } from '../conversations/conversation-tree.ts'
import { withoutRemoved } from '../conversations/without-removed.ts'
import type { RunFacts } from '../runs/run-facts.ts'
import type { RunStore } from '../runs/run-store.ts'
import { keepsDecisions, waitsForPerson } from './join-decisions.ts'

/** Past of a run that goes on, as it was read: each thing once. */
export interface Before {
  /** Up to the turn that the next run follows, as its agent is to see it. */
  readonly conversation: LoadedConversation
  /** The run of that turn; undefined for a turn without a stored run. */
  readonly facts?: RunFacts | undefined
  /** Decisions so far about the calls that it waits for; empty where no person decides. */
  readonly approvals: readonly StoredApproval[]
  /** Conversation that ends with the turn; undefined unless its reader names it, as the next. */
  readonly named?: ConversationRecord | undefined
  /** Run that continues one which waits for its client alone. */
  readonly continuedBy?: string | null | undefined
  /** True for a run that was cancelled: its calls can no longer be answered. */
  readonly isCancelled?: boolean
}

/** Stored runs of a tenant, as they are read here. */
export interface BeforeSource {
  readonly store: RunStore
  readonly approvals: Approvals
  readonly conversations: ConversationStore
}

export interface BeforeOptions extends LoadOptions {
  /** Conversation of a client. Items that the client has removed from it are left out. */
  readonly named?: ConversationRecord | undefined
  /** Finds the conversation that the turn belongs to, in the place of `named`. */
  readonly findsNamed?: boolean
  /** Approvals of the run, where they were read. */
  readonly approvals?: readonly StoredApproval[]
  /** Reads what continues a run that waits for its client alone; for one that keeps decisions it always is. */
  readonly readsContinued?: boolean
}

/**
 * Reads the past of a run that goes on; undefined if it does not exist.
 *
 * @param runId of the run, or of the turn that a client added to its conversation
 * @throws HostError `RESPONSE_CONFLICT` for a run in progress; `REQUEST_INVALID` for more than the budget has left; `RECORD_UNREADABLE`
 */
export async function loadBefore(
  source: BeforeSource,
  runId: string,
  { named: given, findsNamed, approvals: known, readsContinued, ...limits }: BeforeOptions = {},
): Promise<Before | undefined> {
  const { store, approvals, conversations } = source
  const state = await store.state(runId)
  if (state && !state.end) throw inProgress(runId, given !== undefined)
  const found = await store.conversation(runId, limits)
  // Items that were added, and deleted runs, are found by their conversation alone.
  if (!found || !(state || given || findsNamed)) return undefined
  const named = findsNamed ? await conversations.find(found.last.conversation) : given
  const conversation = named ? await withoutRemoved(conversations, named.id, found) : found
  const { pending = [] } = conversation.last
  const isAsked = waitsForPerson(pending)
  // One that was to go on with answers leaves the calls of the run before open.
  const isCancelled = state?.end?.end === 'cancelled' && conversation.last.answers === undefined
  const isOnce = pending.length > 0 && (readsContinued || keepsDecisions(pending))
  return {
    conversation,
    facts: state?.facts,
    approvals: known ?? (isAsked ? await approvals.ofRun(runId) : []),
    named: named?.head === runId ? named : undefined,
    // One that waits for a person is claimed by its approvals.
    continuedBy: isOnce && !isAsked && !isCancelled ? await store.nextOf(runId) : undefined,
    isCancelled,
  }
}

function inProgress(runId: string, isNamed: boolean): HostError {
  const message = isNamed
    ? `The conversation is in use: response '${runId}' is still in progress`
    : 'Response is still in progress'
  return new HostError('RESPONSE_CONFLICT', message)
}
