import { badRequest, type HostError } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import { type Attachment, isUser, type Message, type ToolCall } from '../../protocols/message.ts'
import type { Capabilities } from '../../run/agent/agent-capabilities.ts'
import type { ChatMessage, ContentPart, ToolCall as WireCall } from './chat-message.ts'
import { invalidField } from './invalid-field.ts'
import { parseField } from './json-body.ts'
import { markdownToAttachments } from './markdown-to-attachments.ts'
import { readAttachment } from './read-attachment.ts'

/**
 * The conversation of a request. The last message of the user is the one to handle: what the agent does not take of it is refused,
 * in other messages it is left out.
 *
 * @throws HostError `REQUEST_INVALID` naming the field
 */
export function readMessages(messages: readonly ChatMessage[], findCapabilities: () => Capabilities): Message[] {
  const handled = messages.findLastIndex(isUser)
  if (handled === -1) throw noUserMessage()
  if (messages.some(({ role, tool_calls }) => role === 'tool' || tool_calls?.length)) checkCalls(messages)
  return messages.map((message, index) => toMessage(message, index, index === handled, findCapabilities))
}

/** Problem of a conversation in which no user says anything. */
export function noUserMessage(): HostError {
  return badRequest('messages must contain a user message', { field: 'messages' })
}

/** Every call has one answer, and every answer its call. */
function checkCalls(messages: readonly ChatMessage[]): void {
  const known = new Set<string>()
  const open = new Map<string, number>()
  for (const [index, { role, tool_calls, tool_call_id }] of messages.entries()) {
    for (const { id } of (role === 'assistant' && tool_calls) || []) {
      if (open.has(id)) throw invalidField(`messages[${index}].tool_calls`, `has another call with the id '${id}'.`)
      known.add(id)
      open.set(id, index)
    }
    if (role !== 'tool') continue
    const field = `messages[${index}].tool_call_id`
    if (typeof tool_call_id !== 'string') throw invalidField(field, 'is missing.')
    if (open.delete(tool_call_id)) continue
    const reason = known.has(tool_call_id) ? 'is answered already' : 'no message before it makes'
    throw invalidField(field, `answers a call that ${reason}: '${tool_call_id}'.`)
  }
  for (const [id, index] of open) {
    throw invalidField(
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
  if (isHandled) checkTexts(message.content, index)
  const content = toText(message.content)
  if (role === 'system' || role === 'developer') return { role: 'system', content }
  const attachments = toAttachments(message, index, isHandled, findCapabilities)
  if (role === 'assistant') return toAssistantMessage(message, index, content, attachments)
  const said = attachments.length > 0 ? { content, attachments } : { content }
  return role === 'user' ? { role, ...said } : { role, ...said, toolCallId: message.tool_call_id ?? '' }
}

/** An earlier answer. What it showed as links with data URLs are attachments again. */
function toAssistantMessage(
  { refusal, reasoning_content: reasoning, tool_calls }: ChatMessage,
  index: number,
  content: string,
  sent: readonly Attachment[],
): Message {
  const { text, attachments: shown } = markdownToAttachments(content || (refusal ?? ''))
  const attachments = shown.length > 0 ? [...sent, ...shown] : sent
  return {
    role: 'assistant',
    content: text,
    ...(typeof reasoning === 'string' && reasoning !== '' ? { reasoning: [{ text: reasoning }] } : undefined),
    ...(attachments.length > 0 ? { attachments } : undefined),
    ...(tool_calls?.length
      ? { toolCalls: tool_calls.map((call, place) => toToolCall(call, `messages[${index}].tool_calls[${place}]`)) }
      : undefined),
  }
}

function checkTexts(content: ChatMessage['content'], index: number): void {
  if (content == null) {
    throw invalidField(`messages[${index}].content`, 'must be a string or an array.')
  }
  if (!Array.isArray(content)) return
  const wrong = content.findIndex(({ type, text }) => type === 'text' && typeof text !== 'string')
  if (wrong !== -1) throw invalidField(`messages[${index}].content[${wrong}].text`, 'must be a string.')
}

function toText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(readText).join('')
}

function readText({ type, text, refusal }: ContentPart): string {
  const said = type === 'refusal' ? refusal : text
  return isText(type) && typeof said === 'string' ? said : ''
}

function isText(type: string): boolean {
  return type === 'text' || type === 'refusal'
}

function toToolCall(call: WireCall, field: string): ToolCall {
  if ('custom' in call) return { id: call.id, name: call.custom.name, arguments: { input: call.custom.input } }
  const { name, arguments: text } = call.function
  // A model may have written text that is no JSON object.
  return { id: call.id, name, arguments: fieldsOf(parseField(text, `${field}.function.arguments`)) }
}

const NONE: readonly Attachment[] = Object.freeze([])

function toAttachments(
  { content }: ChatMessage,
  index: number,
  isHandled: boolean,
  findCapabilities: () => Capabilities,
): readonly Attachment[] {
  if (!Array.isArray(content) || content.every(({ type }) => isText(type))) return NONE
  const capabilities = findCapabilities()
  return content.flatMap((part, position) => {
    if (isText(part.type)) return []
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
  return badRequest(message, { field })
}
