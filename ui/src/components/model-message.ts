/** Message to or from a model, read from values of modules: no field is certain. */
export interface ModelMessage {
  readonly role: string
  readonly content: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly attachments: unknown
  /** Of a tool's message: the call that it answers; empty otherwise. */
  readonly toolCallId: string
}

export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

export function readMessage(message: unknown): ModelMessage {
  const { role, content, toolCalls, attachments, toolCallId } = fieldsOf(message)
  return {
    role: String(role ?? ''),
    content: typeof content === 'string' ? content : JSON.stringify(content ?? ''),
    toolCalls: Array.isArray(toolCalls) ? toolCalls.map(readToolCall) : [],
    attachments,
    toolCallId: String(toolCallId ?? ''),
  }
}

export function readToolCall(call: unknown): ModelToolCall {
  const { id, name, arguments: given } = fieldsOf(call)
  return { id: String(id ?? ''), name: String(name), arguments: given ?? {} }
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
