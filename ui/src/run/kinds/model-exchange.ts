/** Request to a model and its answer, read from a trace: nothing in it is certain. */
export interface ModelExchange {
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly { readonly name: string; readonly description: string; readonly parameters: unknown }[]
  /** All else of the request. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly answer: ModelMessage
  readonly reasoning: string
  readonly finish: string | undefined
}

export interface ModelMessage {
  readonly role: string
  readonly content: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly attachments: unknown
}

export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

type Fields = Readonly<Record<string, unknown>>

/** @returns undefined when the call was none of a model */
export function readExchange(request: unknown, result: unknown): ModelExchange | undefined {
  const { messages, tools, ...parameters } = fieldsOf(request)
  if (!Array.isArray(messages)) return undefined
  const parts = Array.isArray(result) ? result.map(fieldsOf) : []
  const textOf = (type: string) =>
    parts.flatMap((part) => (part.type === type ? [String(part.text ?? '')] : [])).join('')
  return {
    messages: messages.map(readMessage),
    tools: (Array.isArray(tools) ? tools : []).map(fieldsOf).map(({ name, description, parameters: schema }) => ({
      name: String(name),
      description: String(description ?? ''),
      parameters: schema,
    })),
    parameters,
    answer: {
      role: 'assistant',
      content: textOf('text'),
      toolCalls: parts.flatMap(({ type, call }) => (type === 'tool_call' ? [readToolCall(call)] : [])),
      attachments: undefined,
    },
    reasoning: textOf('reasoning'),
    finish: parts.flatMap(({ type, reason }) => (type === 'finish' ? [String(reason)] : []))[0],
  }
}

function readMessage(message: unknown): ModelMessage {
  const { role, content, toolCalls, attachments } = fieldsOf(message)
  return {
    role: String(role ?? ''),
    content: typeof content === 'string' ? content : JSON.stringify(content ?? ''),
    toolCalls: Array.isArray(toolCalls) ? toolCalls.map(readToolCall) : [],
    attachments,
  }
}

function readToolCall(call: unknown): ModelToolCall {
  const { id, name, arguments: given } = fieldsOf(call)
  return { id: String(id ?? ''), name: String(name), arguments: given ?? {} }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
