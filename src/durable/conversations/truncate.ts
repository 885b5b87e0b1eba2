import { isUser, type Message } from '../../protocols/message.ts'
import type { HistoryBudget } from './history-budget.ts'
import { withWholeCalls } from './whole-calls.ts'

/**
 * Leaves out the oldest messages that the budget has no room for. System messages stay, and the last message of the user
 * with all that came after it.
 *
 * @param open ids of the calls that wait for a result
 * @throws HostError `REQUEST_INVALID` when these alone are too much
 */
export function truncate(messages: readonly Message[], budget: HistoryBudget, open: readonly string[]): Message[] {
  const question = messages.findLastIndex(isUser)
  for (const [index, message] of messages.entries()) {
    if (index >= question || message.role === 'system') budget.addItems(1, sizeOf(message))
  }
  const from = messages.slice(0, Math.max(question, 0)).findLastIndex((message) => !fits(message, budget)) + 1
  if (from === 0) return [...messages]
  const kept = messages.filter(({ role }, index) => index >= from || role === 'system')
  return withWholeCalls(kept, open)
}

function fits(message: Message, budget: HistoryBudget): boolean {
  return message.role === 'system' || budget.takeItems(1, sizeOf(message))
}

/** Bytes of the text and the attachments. */
export function sizeOf(message: Message): number {
  const attachments = 'attachments' in message ? (message.attachments ?? []) : []
  return attachments.reduce(
    (sum, { data }) => sum + (data instanceof URL ? data.href.length : data.byteLength),
    Buffer.byteLength(message.content),
  )
}
