import { HostError } from '../../../errors.ts'
import type { Message, ToolCall } from '../../../protocols/message.ts'
import type { Usage } from '../../../protocols/run.ts'
import type { RunEventSink } from '../../../run/run-event.ts'
import type { RunResult, Turn } from '../../../run/turn.ts'
import type { ChatCompletion, ChatMessage, ChatRequest } from './schema.ts'

/**
 * The turn that a request asks for.
 *
 * @throws HostError `REQUEST_INVALID` without a message of the user, or when it is a picture
 */
export function toTurn({ messages, user, metadata }: ChatRequest, onEvent: RunEventSink): Turn {
  const handled = messages.findLast(({ role }) => role === 'user')
  if (!handled) throw new HostError('REQUEST_INVALID', 'messages must contain a user message')
  refuseMedia(handled)
  return { messages: messages.map(toMessage), user: user ?? undefined, metadata: metadata ?? undefined, onEvent }
}

/** In earlier messages they do no harm; here the agent would answer without having seen them. */
function refuseMedia({ content }: ChatMessage): void {
  if (!Array.isArray(content)) return
  const unsupportedPart = content.find(({ type }) => type !== 'text')
  if (!unsupportedPart) return
  const text = `messages: the last user message has a part of the type '${unsupportedPart.type}'; only text can be handled`
  throw new HostError('REQUEST_INVALID', text)
}

function toMessage(message: ChatMessage): Message {
  const content = toText(message.content)
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content }
    case 'tool':
      return { role: 'tool', content, toolCallId: String(message.tool_call_id ?? '') }
    case 'assistant': {
      const toolCalls = toToolCalls(message.tool_calls)
      return toolCalls.length > 0 ? { role: 'assistant', content, toolCalls } : { role: 'assistant', content }
    }
    default:
      return { role: 'user', content }
  }
}

function toText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
  return texts.join('')
}

/** What earlier turns called. A call that is not well formed is left out: it is history, and not ours. */
function toToolCalls(calls: unknown): ToolCall[] {
  if (!Array.isArray(calls)) return []
  return calls.flatMap((call: { id?: unknown; function?: { name?: unknown; arguments?: unknown } } | null) => {
    const { name, arguments: text } = call?.function ?? {}
    if (typeof call?.id !== 'string' || typeof name !== 'string') return []
    return [{ id: call.id, name, arguments: parseArguments(text) }]
  })
}

function parseArguments(text: unknown): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(String(text))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** What is the same in everything that is sent for one request. */
export interface Completion {
  readonly id: string
  readonly created: number
  /** As it was asked for. */
  readonly model: string
}

type FinishReason = ChatCompletion['choices'][number]['finish_reason']

/** Reasons by which modules mark an answer that is not complete, in the terms of this API; any other is a plain `stop`. */
const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  content_filter: 'content_filter',
}

function toFinishReason(incompleteReason: string | undefined): FinishReason {
  return FINISH_REASONS[incompleteReason ?? ''] ?? 'stop'
}

/** What a completion takes from the result of its run. */
type Ending = Pick<RunResult, 'usage' | 'incompleteReason'>

export function toCompletion({ id, created, model }: Completion, text: string, ending: Ending): ChatCompletion {
  const message = { role: 'assistant' as const, content: text }
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, finish_reason: toFinishReason(ending.incompleteReason) }],
    usage: toUsage(ending.usage),
  }
}

function toUsage({ inputTokens, outputTokens }: Readonly<Usage>): ChatCompletion['usage'] {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
}

/** The events of one streamed completion. What they share is put together once. */
export class ChunkWriter {
  readonly #head: string

  constructor({ id, created, model }: Completion) {
    const shared = `{"id":"${id}","object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)}`
    this.#head = `data: ${shared},"choices":[`
  }

  /** The first chunk: openai's stream helper throws when it does not tell the role. */
  start(): string {
    return `${this.#head}{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n`
  }

  text(text: string): string {
    return `${this.#head}{"index":0,"delta":{"content":${JSON.stringify(text)}},"finish_reason":null}]}\n\n`
  }

  /** @param includeUsage whether the client asked for the usage, which is a chunk of its own */
  end({ usage, incompleteReason }: Ending, includeUsage: boolean): string {
    const last = `${this.#head}{"index":0,"delta":{},"finish_reason":"${toFinishReason(incompleteReason)}"}]}\n\n`
    const counted = includeUsage ? `${this.#head}],"usage":${JSON.stringify(toUsage(usage))}}\n\n` : ''
    return `${last}${counted}${DONE}`
  }

  failure(message: string): string {
    const error = { message, type: 'server_error', code: 'server_error' }
    return `data: ${JSON.stringify({ error })}\n\n${DONE}`
  }
}

const DONE = 'data: [DONE]\n\n'
