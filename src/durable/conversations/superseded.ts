import type { Message } from '../../protocols/message.ts'
import { type PendingCall, toolCallOf } from '../../run/waiting/pending-call.ts'

/** Results of calls that a new message has rejected: one for each tool call of the conversation. */
export function toSuperseded(pending: readonly PendingCall[]): Message[] {
  const names = new Map<string, Set<string>>()
  for (const call of pending) {
    names.set(toolCallOf(call), (names.get(toolCallOf(call)) ?? new Set<string>()).add(`'${call.name}'`))
  }
  return [...names].map(([toolCallId, rejected]) => {
    const content = `The call of ${[...rejected].join(', ')} was not executed: it was superseded by a message of the user.`
    return { role: 'tool', toolCallId, content, isError: true }
  })
}
