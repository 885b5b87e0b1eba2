import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3FinishReason,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolChoice,
  LanguageModelV3Usage,
} from '@ai-sdk/provider'
import type { Attachment, FinishReason, LLMPart, LLMRequest, Message } from 'agent-host'

/** A request in the terms of the AI SDK's language model specification, version 3. What is left out stays left out. */
export function toCallOptions(request: LLMRequest): LanguageModelV3CallOptions {
  const { messages, tools = [], toolChoice, temperature, maxOutputTokens, stop, responseSchema } = request
  return {
    prompt: toPrompt(messages),
    ...(tools.length > 0 ? { tools: tools.map(toTool), toolChoice: toToolChoice(toolChoice) } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(responseSchema === undefined
      ? {}
      : { responseFormat: { type: 'json', schema: responseSchema, name: 'response' } }),
  }
}

function toTool({
  name,
  description,
  parameters,
}: NonNullable<LLMRequest['tools']>[number]): LanguageModelV3FunctionTool {
  return { type: 'function', name, description, inputSchema: parameters }
}

function toToolChoice(choice: LLMRequest['toolChoice'] = 'auto'): LanguageModelV3ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool }
}

function toPrompt(messages: readonly Message[]): LanguageModelV3Message[] {
  const toolNames = new Map(
    messages
      .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
      .map(({ id, name }) => [id, name]),
  )
  return messages.map((message) => toMessage(message, toolNames))
}

function toMessage(message: Message, toolNames: ReadonlyMap<string, string>): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content }
    case 'user':
      return { role: 'user', content: [...textOf(message), ...(message.attachments ?? []).map(toFile)] }
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(({ id, name, arguments: input }) => {
        return { type: 'tool-call' as const, toolCallId: id, toolName: name, input }
      })
      return { role: 'assistant', content: [...textOf(message), ...calls] }
    }
    case 'tool': {
      const { toolCallId, content } = message
      const output = { type: 'text' as const, value: content }
      return {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId, toolName: toolNames.get(toolCallId) ?? '', output }],
      }
    }
  }
}

function textOf({ content }: Message): { type: 'text'; text: string }[] {
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function toFile({ mediaType, data, name }: Attachment): LanguageModelV3FilePart {
  return { type: 'file', mediaType, data, ...(name === undefined ? {} : { filename: name }) }
}

/** The parts of an answer that one part of the stream stands for: none, one, or usage and finish together. */
export function fromStreamPart(part: LanguageModelV3StreamPart): LLMPart[] {
  switch (part.type) {
    case 'text-delta':
      return part.delta === '' ? [] : [{ type: 'text', text: part.delta }]
    case 'reasoning-delta':
      return part.delta === '' ? [] : [{ type: 'reasoning', text: part.delta }]
    case 'tool-call': {
      const call = { id: part.toolCallId, name: part.toolName, arguments: parseArguments(part.toolName, part.input) }
      return [{ type: 'tool_call', call }]
    }
    case 'finish':
      return [...usageOf(part.usage), { type: 'finish', reason: FINISH_REASONS[part.finishReason.unified] }]
    case 'error':
      throw part.error
    default:
      return []
  }
}

const FINISH_REASONS: Readonly<Record<LanguageModelV3FinishReason['unified'], FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  error: 'other',
  other: 'other',
}

function parseArguments(tool: string, input: string): Record<string, unknown> {
  if (input.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(input)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Told below, like a value of another kind.
  }
  throw new Error(`The model called the tool '${tool}' with arguments that are no JSON object: ${input.slice(0, 200)}`)
}

/** Nothing, where the server counts no tokens: zeros would be a claim. */
function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): LLMPart[] {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return []
  const usage = {
    inputTokens: inputTokens.total ?? 0,
    outputTokens: outputTokens.total ?? 0,
    cachedInputTokens: inputTokens.cacheRead ?? 0,
    reasoningTokens: outputTokens.reasoning ?? 0,
  }
  return [{ type: 'usage', usage }]
}
