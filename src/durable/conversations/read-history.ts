import { HostError } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import type { Message } from '../../protocols/message.ts'
import { toolCallOf } from '../../run/waiting/pending-call.ts'
import type { Job } from '../queue/job.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { ConversationStore } from './conversation-store.ts'
import type { LoadedConversation, LoadOptions, StoredTurn } from './conversation-tree.ts'
import { HistoryBudget, type HistoryLimits } from './history-budget.ts'
import { truncate } from './truncate.ts'
import { withoutUnseen } from './without-unseen.ts'

export interface HistoryOptions {
  readonly store: Pick<RunStore, 'conversation' | 'messagesOf'>
  readonly conversations: ConversationStore
  readonly host: Pick<AgentHost, 'resolve'>
  readonly limits: HistoryLimits
  /** Leaves items that clients removed out of a conversation. */
  readonly leaveOut: (
    id: string,
    conversation: LoadedConversation,
    removed: ReadonlySet<string>,
  ) => Promise<LoadedConversation>
}

/**
 * Reads the conversation up to a turn as its agent sees it, the turn included.
 *
 * @throws HostError `AGENT_NOT_FOUND`, `RESPONSE_NOT_FOUND`, `RECORD_UNREADABLE`
 */
export async function readHistory(
  options: HistoryOptions,
  turn: StoredTurn,
  { agent, isTruncated = false }: Pick<Job, 'agent' | 'isTruncated'>,
): Promise<readonly Message[]> {
  const { store, host, limits } = options
  const { capabilities } = host.resolve(agent)
  const budget = isTruncated ? { budget: new HistoryBudget(limits), isTruncated } : {}
  const earlier = turn.startsOver ? [] : await readEarlier(options, turn, budget)
  const all = [...earlier, ...(await store.messagesOf(turn))]
  const open = (turn.pending ?? []).map(toolCallOf)
  const seen = isTruncated ? truncate(all, new HistoryBudget(limits), open) : all
  return withoutUnseen(seen, capabilities.attachments)
}

/** Reads what stands before a turn, without the items that were removed from its conversation. */
async function readEarlier(
  { store, conversations, leaveOut }: HistoryOptions,
  { previous_response_id: head, conversation: id }: StoredTurn,
  limits: LoadOptions,
): Promise<readonly Message[]> {
  if (head === null) return []
  const found = await store.conversation(head, limits)
  if (!found) throw new HostError('RESPONSE_NOT_FOUND', 'Response not found')
  const named = id === undefined ? undefined : await conversations.find(id)
  const removed = named && (await conversations.removedItems(named.id))
  return named && removed?.size ? (await leaveOut(named.id, found, removed)).messages : found.messages
}
