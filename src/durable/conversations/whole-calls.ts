import type { Message } from '../../protocols/message.ts'

/**
 * Leaves out results without their call, and calls without their result: models refuse both.
 *
 * @param open ids of the calls that wait for a result
 */
export function withWholeCalls(messages: readonly Message[], open: readonly string[]): Message[] {
  const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  const called = new Set(messages.flatMap((message) => toolCallsOf(message).map(({ id }) => id)))
  return messages.flatMap((message): Message[] => {
    if (message.role === 'tool') return called.has(message.toolCallId) ? [message] : []
    if (message.role !== 'assistant' || !message.toolCalls) return [message]
    const { toolCalls: calls, ...rest } = message
    const toolCalls = calls.filter(({ id }) => answered.has(id) || open.includes(id))
    if (toolCalls.length > 0) return [{ ...rest, toolCalls }]
    return rest.content === '' ? [] : [rest]
  })
}

function toolCallsOf(message: Message) {
  return message.role === 'assistant' ? (message.toolCalls ?? []) : []
}
