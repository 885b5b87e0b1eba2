import type { Message, ToolCall } from 'agent-host'

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
      return result ? [action, toObservation(result)] : [action]
    })
  })
}

type ToolMessage = Extract<Message, { role: 'tool' }>

function toAction({ name, arguments: args }: ToolCall): string {
  return `Action: ${name}\nAction Input: ${JSON.stringify(args)}`
}

function toObservation({ content, attachments, isError }: ToolMessage): Message {
  const text = `Observation: ${isError ? 'Error: ' : ''}${content}`
  return { role: 'user', content: text, ...(attachments ? { attachments } : {}) }
}
