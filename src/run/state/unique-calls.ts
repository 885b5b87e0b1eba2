import { randomUUID } from 'node:crypto'
import type { Message, ToolCall } from '../../protocols/message.ts'
import { callsOf, pairCalls } from '../../wire/paired-calls.ts'

interface Conversation {
  readonly messages: readonly Message[]
}

/**
 * Returns the call under an id of its own: that of the host where its own is empty or in use.
 *
 * @param used ids of the other calls; gets that of this one
 * @param prefix of ids of the host, unique for ever
 */
export function uniqueCall(call: ToolCall, used: Set<string>, prefix: string): ToolCall {
  const { id, vendorId = id } = call
  const isUnique = id !== '' && !used.has(id)
  const unique = isUnique ? call : { ...call, id: `call_${prefix}_${used.size}`, ...(vendorId && { vendorId }) }
  used.add(unique.id)
  return unique
}

/** Tells the calls of a conversation apart whose ids repeat. The last of them keeps the id: answers name that one. */
export function withUniqueCalls<T extends Conversation>(conversation: T): T {
  const { messages } = conversation
  if (!messages.some(hasCalls)) return conversation
  const [used, prefix] = [new Set<string>(), randomUUID()]
  const latestFirst = pairCalls(messages).reverse()
  const calls = latestFirst.map(({ call }) => uniqueCall(call, used, prefix))
  if (calls.every((call, index) => call === latestFirst[index]?.call)) return conversation
  const ids = new Map(latestFirst.map(({ answeredAt }, index) => [answeredAt, calls[index]?.id]))
  const rename = (message: Message, index: number): Message => {
    if (message.role === 'tool') return { ...message, toolCallId: ids.get(index) ?? message.toolCallId }
    return hasCalls(message) ? { ...message, toolCalls: message.toolCalls.map(() => calls.pop() as ToolCall) } : message
  }
  return { ...conversation, messages: messages.map(rename) }
}

/** Gives the calls of a request the ids by which its model knows them, where those of one step differ. */
export function withVendorIds<T extends Conversation>(request: T): T {
  const { messages } = request
  if (!messages.some((message) => callsOf(message).some(isRenamed))) return request
  const ids = new Map<string, string>()
  const rename = (message: Message): Message => {
    if (message.role === 'tool') return { ...message, toolCallId: ids.get(message.toolCallId) ?? message.toolCallId }
    return hasCalls(message) ? { ...message, toolCalls: toVendorCalls(message.toolCalls, ids) } : message
  }
  return { ...request, messages: messages.map(rename) }
}

/** @param ids gets those of the vendor, by those of the host */
function toVendorCalls(calls: readonly ToolCall[], ids: Map<string, string>): ToolCall[] {
  const taken = new Set(calls.flatMap((call) => (isRenamed(call) ? [] : [call.id])))
  return calls.map(({ vendorId, ...call }) => {
    const id = vendorId === undefined || taken.has(vendorId) ? call.id : vendorId
    taken.add(id)
    ids.set(call.id, id)
    return { ...call, id }
  })
}

function isRenamed({ vendorId }: ToolCall): boolean {
  return vendorId !== undefined
}

function hasCalls(
  message: Message,
): message is Extract<Message, { role: 'assistant' }> & { readonly toolCalls: readonly ToolCall[] } {
  return callsOf(message).length > 0
}
