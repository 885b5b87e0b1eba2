import { HostError } from '../../../errors.ts'
import type { Attachment, Message, ToolCall } from '../../../protocols/message.ts'
import type { Capabilities } from '../../../run/turn.ts'
import { readAttachment } from './read-attachment.ts'
import type { ChatMessage, ChatRequest, ContentPart, ToolCall as WireCall } from './schema.ts'

/**
 * The conversation of a request. The last message of the user is the one to handle: what the agent does not take of it is refused,
 * in other messages it is left out.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function toMessages(messages: ChatRequest['messages'], findCapabilities: () => Capabilities): Message[] {
  const handled = messages.findLastIndex(({ role }) => role === 'user')
  if (handled === -1) {
    throw new HostError('REQUEST_INVALID', 'messages must contain a user message', { field: 'messages' })
  }
  if (messages.some(({ role, tool_calls }) => role === 'tool' || tool_calls?.length)) checkCalls(messages)
  return messages.map((message, index) => toMessage(message, index, index === handled, findCapabilities))
}

/** Every call has its answer, and every answer its call. */
function checkCalls(messages: ChatRequest['messages']): void {
  const known = new Set<string>()
  const open = new Map<string, number>()
  for (const [index, { role, tool_calls, tool_call_id }] of messages.entries()) {
    for (const { id } of (role === 'assistant' && tool_calls) || []) {
      known.add(id)
      open.set(id, index)
    }
    if (role !== 'tool') continue
    const field = `messages[${index}].tool_call_id`
    if (typeof tool_call_id !== 'string') throw invalid(field, 'is missing.')
    if (!known.has(tool_call_id))
      throw invalid(field, `answers a call that no message before it makes: '${tool_call_id}'.`)
    open.delete(tool_call_id)
  }
  for (const [id, index] of open) {
    throw invalid(
      `messages[${index}].tool_calls`,
      `has no answer to the call '${id}': add a message of the role 'tool'.`,
    )
  }
}

function toMessage(
  message: ChatMessage,
  index: number,
  isHandled: boolean,
  findCapabilities: () => Capabilities,
): Message {
  const { role } = message
  const content = toText(message.content)
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content }
    case 'assistant':
      return message.tool_calls?.length
        ? { role, content, toolCalls: message.tool_calls.map(toToolCall) }
        : { role, content }
    default: {
      const attachments = toAttachments(message, index, isHandled, findCapabilities)
      const said = attachments.length > 0 ? { content, attachments } : { content }
      return role === 'user' ? { role, ...said } : { role, ...said, toolCallId: message.tool_call_id ?? '' }
    }
  }
}

function toText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
  return texts.join('')
}

function toToolCall({ id, function: { name, arguments: text } }: WireCall): ToolCall {
  return { id, name, arguments: parseArguments(text) }
}

/** Parses the arguments of a tool call in the history: a model may have written text that is no JSON. */
function parseArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

const NONE: readonly Attachment[] = Object.freeze([])

function toAttachments(
  { content }: ChatMessage,
  index: number,
  isHandled: boolean,
  findCapabilities: () => Capabilities,
): readonly Attachment[] {
  if (!Array.isArray(content) || content.every(({ type }) => type === 'text')) return NONE
  const capabilities = findCapabilities()
  return content.flatMap((part, position) => {
    if (part.type === 'text') return []
    const path = `messages[${index}].content[${position}]`
    const attachment = capabilities.attachments.length > 0 ? readAttachment(part, path) : undefined
    if (attachment && capabilities.takes(attachment.mediaType)) return [attachment]
    if (isHandled) throw notTaken(part, capabilities, `${path}.type`)
    return []
  })
}

function notTaken({ type }: ContentPart, { attachments }: Capabilities, field: string): HostError {
  const taken =
    attachments.length > 0 ? `the agent takes text and ${attachments.join(', ')}` : 'only text can be handled'
  const message = `messages: the last user message has a part of the type '${type}'; ${taken}`
  return new HostError('REQUEST_INVALID', message, { field })
}

function invalid(field: string, what: string): HostError {
  return new HostError('REQUEST_INVALID', `${field} ${what}`, { field })
}
