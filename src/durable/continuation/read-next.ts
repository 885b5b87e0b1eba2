import type { ConversationStore } from '../conversations/conversation-store.ts'
import { HistoryBudget } from '../conversations/history-budget.ts'
import { withoutRemoved } from '../conversations/without-removed.ts'
import type { PersistedRun } from '../runs/run-row.ts'
import type { RunStore } from '../runs/run-store.ts'
import { type NextRun, type SightRules, see, toTurn } from './next.ts'

/** Stored runs of a tenant, as they are read here. */
interface Source {
  readonly tenant: string
  readonly store: RunStore
  readonly conversations: ConversationStore
}

/**
 * Reads the turn of the agent that a stored run is: what {@link next} made when it was stored.
 *
 * @throws HostError `RECORD_UNREADABLE`
 */
export async function readNext(
  { tenant, store, conversations }: Source,
  { row: { id, facts }, turn }: PersistedRun,
  rules: SightRules,
): Promise<NextRun['turn']> {
  const { isTruncated } = facts.options
  const found = await store.conversation(
    id,
    isTruncated ? { budget: new HistoryBudget(rules.limits), isTruncated } : {},
  )
  const named = found && (await conversations.find(turn.conversation))
  const { messages = [] } = (named ? await withoutRemoved(conversations, named.id, found) : found) ?? {}
  const { pending = [] } = turn
  const answers = await store.answersOf(turn)
  return toTurn(id, tenant, facts, { answers, pending, messages: see(messages, pending, facts, rules) })
}
