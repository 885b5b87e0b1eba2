import type { Message, ToolCall, ToolResult } from 'agent-host'

/** The conversation as a model sees it that calls tools in text: its calls as actions, their results as observations. */
export function asSteps(messages: readonly Message[]): Message[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message] as const] : [])),
  )
  return messages.flatMap((message) => {
    if (message.role === 'tool') return []
    if (message.role !== 'assistant' || !message.toolCalls?.length) return [message]
    return message.toolCalls.flatMap((call, index): Message[] => {
      const said = index === 0 && message.content !== '' ? `${message.content}\n` : ''
      const action: Message = { role: 'assistant', content: `${said}${toAction(call)}` }
      const result = results.get(call.id)
      return result ? [action, toObservation({ ...result, text: result.content })] : [action]
    })
  })
}

function toAction({ name, arguments: args }: ToolCall): string {
  return `Action: ${name}\nAction Input: ${JSON.stringify(args)}`
}

/** Result of a tool, as the message that such a model reads. */
export function toObservation({ text, attachments = [], isError }: ToolResult): Message {
  const content = `Observation: ${isError ? 'Error: ' : ''}${text}`
  return { role: 'user', content, ...(attachments.length > 0 ? { attachments } : {}) }
}
