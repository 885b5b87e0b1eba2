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
import type { Attachment, FinishReason, LLMPart, LLMRequest, Message, ToolDefinition } from 'agent-host'
import { CannotAsk } from './ai-sdk-retry.ts'
import type { RunThoughts } from './ai-sdk-thoughts.ts'

/** What a vendor's API wants otherwise than the others. */
export interface VendorQuirks {
  /** System messages stand before all others. */
  readonly systemFirst?: boolean
  /** What tools say about strictness, where the vendor has a default that does not fit every schema. */
  readonly strictTools?: boolean
  /** An answer without a reason why it ended was cut off. */
  readonly alwaysFinishes?: boolean
  /** Whatever the address of a picture or file is, the server may know what to do with it. */
  readonly takesAddresses?: boolean
}

/** What the model can be sent. */
interface Abilities extends VendorQuirks {
  /** Patterns of the addresses that the vendor fetches by itself, by media type. */
  readonly supportedUrls: Readonly<Record<string, readonly RegExp[]>>
}

/** A request in the terms of the AI SDK's language model specification, version 3. What is left out stays left out. */
export function toCallOptions(
  request: LLMRequest,
  abilities: Abilities,
  thoughts: RunThoughts,
): LanguageModelV3CallOptions {
  const { messages, tools = [], toolChoice, temperature, maxOutputTokens, stop, responseSchema } = request
  return {
    prompt: toPrompt(messages, abilities, thoughts),
    ...(tools.length > 0
      ? { tools: tools.map((tool) => toTool(tool, abilities)), toolChoice: toToolChoice(toolChoice) }
      : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(responseSchema === undefined
      ? {}
      : { responseFormat: { type: 'json', schema: responseSchema, name: 'response' } }),
  }
}

function toTool(
  { name, description, parameters }: ToolDefinition,
  { strictTools }: VendorQuirks,
): LanguageModelV3FunctionTool {
  const strict = strictTools === undefined ? {} : { strict: strictTools }
  return { type: 'function', name, description, inputSchema: parameters, ...strict }
}

function toToolChoice(choice: LLMRequest['toolChoice'] = 'auto'): LanguageModelV3ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool }
}

function toPrompt(messages: readonly Message[], abilities: Abilities, thoughts: RunThoughts): LanguageModelV3Message[] {
  const toolNames = new Map(
    messages
      .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
      .map(({ id, name }) => [id, name]),
  )
  const prompt: LanguageModelV3Message[] = []
  for (const message of abilities.systemFirst ? systemFirst(messages) : messages) {
    const converted = toMessage(message, { abilities, thoughts, toolNames })
    const last = prompt.at(-1)
    // The answers to calls that were made together belong together: Gemini wants as many as there were calls.
    if (converted.role === 'tool' && last?.role === 'tool') last.content.push(...converted.content)
    // Nothing at all is no message; most vendors refuse it.
    else if (converted.role !== 'assistant' || converted.content.length > 0) prompt.push(converted)
  }
  return prompt
}

function systemFirst(messages: readonly Message[]): Message[] {
  const isSystem = ({ role }: Message) => role === 'system'
  return [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message))]
}

interface Conversation {
  readonly abilities: Abilities
  readonly thoughts: RunThoughts
  readonly toolNames: ReadonlyMap<string, string>
}

function toMessage(message: Message, { abilities, thoughts, toolNames }: Conversation): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content }
    case 'user': {
      const files = (message.attachments ?? []).map((attachment) => toFile(attachment, abilities))
      return { role: 'user', content: [...textOf(message), ...files] }
    }
    case 'assistant':
      return { role: 'assistant', content: toAnswer(message, thoughts) }
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

/** Thoughts come first, then what was said, then the calls, each after what was thought before it. */
function toAnswer(
  message: Extract<Message, { role: 'assistant' }>,
  thoughts: RunThoughts,
): Extract<LanguageModelV3Message, { role: 'assistant' }>['content'] {
  const [first, ...others] = (message.toolCalls ?? []).map(({ id, name, arguments: input }) => {
    const { reasoning = [], metadata } = thoughts.recall(id) ?? {}
    const options = metadata ? { providerOptions: metadata } : {}
    return { reasoning, call: { type: 'tool-call' as const, toolCallId: id, toolName: name, input, ...options } }
  })
  if (!first) return textOf(message)
  return [
    ...first.reasoning,
    ...textOf(message),
    first.call,
    ...others.flatMap(({ reasoning, call }) => [...reasoning, call]),
  ]
}

function textOf({ content }: Message): { type: 'text'; text: string }[] {
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function toFile({ mediaType, data, name }: Attachment, abilities: Abilities): LanguageModelV3FilePart {
  return {
    type: 'file',
    mediaType,
    data: toFileData(data, mediaType, abilities),
    ...(name === undefined ? {} : { filename: name }),
  }
}

/** Nothing is fetched here: an address may be the user's, and point at what only this machine can reach. */
function toFileData(data: Attachment['data'], mediaType: string, { supportedUrls, takesAddresses }: Abilities) {
  if (!(data instanceof URL)) return data
  if (data.protocol === 'data:') return bytesOf(data)
  const patterns = Object.entries(supportedUrls)
    .filter(([type]) => type === '*' || type === '*/*' || type === mediaType || type === `${mediaType.split('/')[0]}/*`)
    .flatMap(([, list]) => list)
  if (takesAddresses || patterns.some((pattern) => pattern.test(data.href))) return data
  throw new CannotAsk(
    `cannot be asked: it does not take ${mediaType} from the address ${data.origin}. Send the file itself.`,
  )
}

function bytesOf({ href }: URL): Uint8Array {
  const comma = href.indexOf(',')
  const payload = decodeURIComponent(href.slice(comma + 1))
  return Buffer.from(payload, /;base64$/i.test(href.slice(0, comma)) ? 'base64' : 'utf8')
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
