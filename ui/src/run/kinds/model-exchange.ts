import { fieldsOf, type ModelMessage, readMessage, readToolCall } from '../../components/model-message.ts'

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
      toolCallId: '',
    },
    reasoning: textOf('reasoning'),
    finish: parts.flatMap(({ type, reason }) => (type === 'finish' ? [String(reason)] : []))[0],
  }
}
