import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { StoredRun } from '../../../../durable/runs/run-store.ts'
import { isUser, type Message } from '../../../../protocols/message.ts'
import { toInputItems } from '../input/to-input-items.ts'
import { RESPONSES } from './to-record.ts'

/** Reads a run as a response, whichever adapter started it. */
export async function findResponse(runs: DurableRuns, id: string): Promise<StoredRun | undefined> {
  const stored = await runs.store.get(id)
  return stored && withItems(runs, stored)
}

/** Returns a run with its input items: for one of another adapter, what its agent was asked. */
async function withItems(runs: DurableRuns, stored: StoredRun): Promise<StoredRun> {
  const { id, facts } = stored
  if (facts.adapter === RESPONSES) return stored
  const turn = await runs.conversations.turn(id)
  const messages = turn ? await runs.store.messagesOf(turn) : []
  const items = toInputItems(messages.slice(0, lastQuestion(messages) + 1).flatMap(toInput), id, facts.createdAt)
  return { ...stored, items, inputs: items.length }
}

function lastQuestion(messages: readonly Message[]): number {
  return messages.findLastIndex(isUser)
}

function toInput({ role, content }: Message) {
  return role === 'tool' ? [] : [{ role, content }]
}
