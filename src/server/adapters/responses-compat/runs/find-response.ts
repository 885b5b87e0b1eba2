import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { isUser, type Message } from '../../../../protocols/message.ts'
import { toInputItems } from '../input/to-input-items.ts'
import { RESPONSES } from './to-record.ts'

/** Reads a run as a response, whichever adapter started it: the input items of one of another adapter are what its agent was asked. */
export async function findResponse(runs: DurableRuns, id: string): Promise<StoredRun | undefined> {
  const stored = await runs.store.get(id)
  if (!stored || stored.facts.adapter === RESPONSES) return stored
  const turn = await runs.conversations.turn(id)
  const messages = turn ? await runs.store.messagesOf(turn) : []
  const asked = messages.slice(0, messages.findLastIndex(isUser) + 1)
  const items = toInputItems(asked.flatMap(toInput), id, stored.facts.createdAt)
  return { ...stored, items, inputs: items.length }
}

function toInput({ role, content }: Message) {
  return role === 'tool' ? [] : [{ role, content }]
}
