import type { Message } from '../../protocols/message.ts'
import { type PendingCall, toolCallOf } from '../../run/waiting/pending-call.ts'

/**
 * Results of calls that are still open when a new message comes: one for each tool call of the conversation.
 *
 * @param elsewhere calls that a person allowed, and that run in another branch: the model must not think that they were not executed
 */
export function toSuperseded(pending: readonly PendingCall[], elsewhere: ReadonlySet<PendingCall>): Message[] {
  const byToolCall = new Map<string, PendingCall[]>()
  for (const call of pending) byToolCall.set(toolCallOf(call), [...(byToolCall.get(toolCallOf(call)) ?? []), call])
  return [...byToolCall].map(([toolCallId, calls]) => {
    const rejected = nameAll(calls.filter((call) => !elsewhere.has(call)))
    const allowed = nameAll(calls.filter((call) => elsewhere.has(call)))
    const sentences = [
      ...(rejected ? [`The call of ${rejected} was not executed: it was superseded by a message of the user.`] : []),
      ...(allowed
        ? [
            `The call of ${allowed} was allowed by a person and runs in another branch of the conversation: its result is not known here.`,
          ]
        : []),
    ]
    return { role: 'tool', toolCallId, content: sentences.join(' '), isError: true }
  })
}

function nameAll(calls: readonly PendingCall[]): string {
  return [...new Set(calls.map(({ name }) => `'${name}'`))].join(', ')
}
