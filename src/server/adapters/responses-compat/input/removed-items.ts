import type { LoadedConversation } from '../../../../durable/conversations/conversation-tree.ts'
import { withWholeCalls } from '../../../../durable/conversations/whole-calls.ts'
import type { Message } from '../../../../protocols/message.ts'
import { callsOf } from '../../../../run/state/paired-calls.ts'
import { toolCallOf } from '../../../../run/waiting/pending-call.ts'
import { turnIdOf } from '../ids.ts'
import type { InputItem } from '../routes/schema.ts'
import type { ResponseRuns } from '../runs/response-runs.ts'
import { readInput, toToolMessage } from './read-input.ts'
import { readItems } from './read-items.ts'
import { unsealingFor } from './sealed-items.ts'

/** Reads the turns of a conversation again from the items that are left after some were removed. */
export async function leaveOut(
  runs: ResponseRuns,
  id: string,
  { last, turns }: LoadedConversation,
  removed: ReadonlySet<string>,
): Promise<LoadedConversation> {
  const touched = new Set([...removed].map(turnIdOf))
  const messages: Message[] = []
  for (const turn of turns) {
    const isTouched = touched.has(turn.response_id)
    const rest = isTouched ? readRest(runs, id, turn.response_id, removed) : runs.store.messagesOf(turn)
    messages.push(...(await rest))
  }
  const open = last.pending ?? []
  const kept = withWholeCalls(
    messages,
    open.flatMap((call) => [call.callId, toolCallOf(call)]),
  )
  const calls = new Set(kept.flatMap(callsOf).map(({ id }) => id))
  return {
    last: { ...last, pending: open.filter((call) => calls.has(call.callId) || calls.has(toolCallOf(call))) },
    turns,
    messages: kept,
  }
}

/** Messages that are left of a turn. */
export async function readRest(
  runs: ResponseRuns,
  id: string,
  turnId: string,
  removed: ReadonlySet<string>,
): Promise<Message[]> {
  const items = await itemsOfTurn(runs, turnId)
  if (items.length === 0) return runs.conversations.restOf(id, turnId)
  const rest = items.filter((item) => !removed.has(item.id))
  const { messages, outputs } = readInput(rest, 'items', await unsealingFor(rest, runs))
  return [...outputs.map(toToolMessage), ...messages]
}

/** Items of a turn, those of a run in progress excepted. */
export async function itemsOfTurn(runs: ResponseRuns, turnId: string): Promise<readonly InputItem[]> {
  const items = await readItems(runs, turnId)
  return items && !items.isRunning ? [...items.input, ...items.output] : []
}
