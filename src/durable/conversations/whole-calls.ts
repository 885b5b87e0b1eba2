import type { Message, ToolCall } from '../../protocols/message.ts'
import { type PairedCall, pairCalls } from '../../wire/paired-calls.ts'

/**
 * Leaves out results without their call, and calls without their result: models refuse both.
 *
 * @param open ids of the calls that wait for a result
 */
export function withWholeCalls(messages: readonly Message[], open: readonly string[]): Message[] {
  const pairs = pairCalls(messages)
  const answers = new Set(pairs.map(({ answeredAt }) => answeredAt))
  const whole = new Set<PairedCall<ToolCall> | undefined>(
    pairs.filter(({ call, answeredAt }) => answeredAt !== undefined || open.includes(call.id)),
  )
  const next = pairs.values()
  return messages.flatMap((message, index): Message[] => {
    if (message.role === 'tool') return answers.has(index) ? [message] : []
    if (message.role !== 'assistant' || !message.toolCalls) return [message]
    const { toolCalls: calls, ...rest } = message
    const toolCalls = calls.filter(() => whole.has(next.next().value))
    if (toolCalls.length > 0) return [{ ...rest, toolCalls }]
    return rest.content === '' ? [] : [rest]
  })
}
