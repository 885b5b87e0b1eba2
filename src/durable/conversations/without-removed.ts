import { openOf, toolCallOf } from '../../run/waiting/pending-call.ts'
import { callsOf } from '../../wire/paired-calls.ts'
import type { ConversationStore } from './conversation-store.ts'
import type { LoadedConversation } from './conversation-tree.ts'
import { withWholeCalls } from './whole-calls.ts'

/**
 * Leaves the items that a client has removed from a conversation out of its turns.
 *
 * @param id of the conversation
 */
export async function withoutRemoved(
  conversations: ConversationStore,
  id: string,
  loaded: LoadedConversation,
): Promise<LoadedConversation> {
  const { last, turns } = loaded
  const rests = await conversations.rests(
    id,
    turns.map(({ response_id }) => response_id),
  )
  if (rests.size === 0) return loaded
  let from = 0
  const messages = turns.flatMap(({ response_id: turnId, conversation_data: data }) => {
    const own = loaded.messages.slice(from, from + data.messages.length)
    from += data.messages.length
    return rests.get(turnId) ?? own
  })
  const open = last.pending ?? []
  const kept = withWholeCalls(
    messages,
    openOf(open).flatMap((call) => [call.callId, toolCallOf(call)]),
  )
  const calls = new Set(kept.flatMap(callsOf).map(({ id }) => id))
  const pending = open.filter((call) => calls.has(call.callId) || calls.has(toolCallOf(call)))
  return { last: { ...last, pending }, turns, messages: kept }
}
