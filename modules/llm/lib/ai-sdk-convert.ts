import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3ProviderTool,
  LanguageModelV3ReasoningPart,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolChoice,
  LanguageModelV3ToolResultPart,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from '@ai-sdk/provider'
import {
  type Attachment,
  HostError,
  isObject,
  type LLMPart,
  type LLMRequest,
  type Message,
  type ProviderMetadata,
  pairCalls,
  parseJson,
  type ToolDefinition,
} from 'agent-host'
import type { ChatEndpoint } from './chat-endpoint.ts'
import { readFinish } from './finish-reason.ts'
import { NotTaken } from './refusal.ts'
import { isStrictSchema } from './strict-schema.ts'

/** Option of a request that only some vendors take. */
export type VendorOption = keyof Pick<LLMRequest, 'verbosity' | 'serviceTier' | 'promptCacheKey' | 'safetyIdentifier'>

/** Requirements of a vendor's API that differ from those of the others. */
export interface VendorQuirks {
  /** Name of the vendor in metadata: that of others is none of its business. */
  readonly vendor?: string
  /** Endpoint that takes reasoning, and what it wants back, by itself: the SDK leaves them out. */
  readonly endpoint?: ChatEndpoint
  /** System messages stand before all others. */
  readonly systemFirst?: boolean
  /** Tools can be strict, and are by default: those that do not ask for it, or whose schema does not allow it, say that they are not. */
  readonly hasStrictTools?: boolean
  /** Name of the vendor among the options of the AI SDK, where it takes the phase of an answer. */
  readonly phasesOf?: string
  /** Id of the vendor's own tool whose calls are texts of a Lark grammar. */
  readonly larkTool?: LanguageModelV3ProviderTool['id']
  /** An answer without a reason why it ended was cut off. */
  readonly alwaysFinishes?: boolean
  /** Kind of an event that the SDK refuses only because it is new: it is left out. */
  readonly newKindOf?: (event: unknown) => string | undefined
  /** Refuses text without a visible character. */
  readonly refusesBlank?: boolean
  /** An answer may begin with thoughts between tags. */
  readonly hasThoughtTags?: boolean
  /** Options of a picture that is to be read in this detail. */
  readonly optionsOfPicture?: (detail: string, address: () => string) => SharedV3ProviderMetadata
  /** Passes any URL of an image or file on: the server may support it. */
  readonly takesAddresses?: boolean
  /** Media types of the attachments that a tool result may have. */
  readonly toolFiles?: RegExp
  /** Reasoning efforts that the models know; left out: any word. */
  readonly efforts?: readonly string[]
  /** Options that only some vendors take, with the words that the models know: `true` for any. */
  readonly options?: { readonly [Name in VendorOption]?: readonly string[] | true }
}

/** Inputs that the model accepts. */
interface Abilities extends VendorQuirks {
  /** Patterns of the addresses that the vendor fetches by itself, by media type. */
  readonly supportedUrls: Readonly<Record<string, readonly RegExp[]>>
}

/** A request in the terms of the AI SDK's language model specification, version 3. What is left out stays left out. */
export function toCallOptions(request: LLMRequest, abilities: Abilities): LanguageModelV3CallOptions {
  const { messages, tools = [], toolChoice, stop, responseSchema } = request
  const { temperature, topP, maxOutputTokens, seed, presencePenalty, frequencyPenalty } = request
  const plain = { temperature, topP, maxOutputTokens, seed, presencePenalty, frequencyPenalty }
  return {
    prompt: toPrompt(messages, abilities, textToolsOf(tools, abilities)),
    ...(tools.length > 0
      ? { tools: tools.map((tool) => toTool(tool, abilities)), toolChoice: toToolChoice(toolChoice) }
      : {}),
    ...withoutUndefined(plain),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(responseSchema === undefined
      ? {}
      : { responseFormat: { type: 'json', schema: responseSchema, name: 'response' } }),
  }
}

/** The entries that have a value: `undefined` means left out, to the SDK too. */
export function withoutUndefined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}

/** Names of the tools that the vendor gives texts: their calls have one argument here, `input`. */
export function textToolsOf(tools: readonly ToolDefinition[] = [], { larkTool }: VendorQuirks): ReadonlySet<string> {
  if (larkTool === undefined) return NO_NAMES
  return new Set(tools.filter(({ client }) => client?.lark !== undefined).map(({ name }) => name))
}

const NO_NAMES: ReadonlySet<string> = new Set()

function toTool(
  { name, description, parameters, strict = false, client }: ToolDefinition,
  { hasStrictTools, larkTool }: VendorQuirks,
): LanguageModelV3FunctionTool | LanguageModelV3ProviderTool {
  if (larkTool !== undefined && client?.lark !== undefined) {
    const format = { type: 'grammar', syntax: 'lark', definition: client.lark }
    return { type: 'provider', id: larkTool, name, args: { name, description, format } }
  }
  const strictness = hasStrictTools ? { strict: strict && isStrictSchema(parameters) } : {}
  return { type: 'function', name, description, inputSchema: parameters, ...strictness }
}

function toToolChoice(choice: LLMRequest['toolChoice'] = 'auto'): LanguageModelV3ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool }
}

function toPrompt(
  messages: readonly Message[],
  abilities: Abilities,
  textTools: ReadonlySet<string>,
): LanguageModelV3Message[] {
  const said = abilities.refusesBlank ? withoutBlank(messages) : messages
  const ordered = abilities.systemFirst ? systemFirst(said) : said
  const names = new Map(pairCalls(ordered).map(({ call, answeredAt }) => [answeredAt, call.name]))
  const question = ordered.findLastIndex(({ role }) => role === 'user')
  const prompt: LanguageModelV3Message[] = []
  for (const [index, message] of ordered.entries()) {
    const converted = toMessage(message, {
      abilities,
      toolName: names.get(index) ?? '',
      textTools,
      isOfTurn: index > question,
    })
    const last = prompt.at(-1)
    // The results of parallel calls belong together: Gemini requires one per call.
    if (converted.role === 'tool' && last?.role === 'tool') last.content.push(...converted.content)
    // Nothing at all is no message; most vendors refuse it.
    else if (converted.role !== 'assistant' || converted.content.length > 0) prompt.push(converted)
  }
  return prompt
}

/** @throws HostError `REQUEST_INVALID` when the question is blank: only its client can say what was meant */
function withoutBlank(messages: readonly Message[]): Message[] {
  const last = messages.findLast(({ role }) => role !== 'system')
  if (last?.role === 'user' && saysNothing(last)) {
    throw new HostError('REQUEST_INVALID', 'The last user message is blank, and the model takes no blank text.')
  }
  return messages.filter((message) => message.role === 'tool' || !saysNothing(message)).map(withoutBlankText)
}

function saysNothing({ content, ...rest }: Message): boolean {
  const { attachments = [], toolCalls = [], reasoning = [] } = rest as Partial<AssistantMessage>
  return isBlank(content) && attachments.length + toolCalls.length + reasoning.length === 0
}

function withoutBlankText(message: Message): Message {
  if (!isBlank(message.content)) return message
  return { ...message, content: message.role === 'tool' && !message.attachments?.length ? '(no text)' : '' }
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}

function systemFirst(messages: readonly Message[]): Message[] {
  const isSystem = ({ role }: Message) => role === 'system'
  return [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message))]
}

interface Conversion {
  readonly abilities: Abilities
  /** Tool whose result the message is. */
  readonly toolName: string
  readonly textTools: ReadonlySet<string>
  /** True for messages after the last question. */
  readonly isOfTurn: boolean
}

function toMessage(message: Message, conversion: Conversion): LanguageModelV3Message {
  const { abilities, toolName } = conversion
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content }
    case 'user': {
      const files = (message.attachments ?? []).map((attachment) => toFile(attachment, abilities))
      const text = files.length > 0 ? toTextParts(message) : [{ type: 'text' as const, text: message.content }]
      return { role: 'user', content: [...text, ...files] }
    }
    case 'assistant':
      return { role: 'assistant', content: toAssistantContent(message, conversion) }
    case 'tool': {
      const { toolCallId } = message
      return {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId, toolName, output: toOutput(message, abilities) }],
      }
    }
  }
}

type AssistantMessage = Extract<Message, { role: 'assistant' }>

/** Reasoning comes first, then the text, then the calls, each with its vendor metadata. */
function toAssistantContent(
  message: AssistantMessage,
  { abilities, isOfTurn, textTools }: Conversion,
): Extract<LanguageModelV3Message, { role: 'assistant' }>['content'] {
  const { toolCalls = [] } = message
  const calls = toolCalls.map(({ id, name, arguments: args, providerMetadata: ofCall }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: name,
    input: textTools.has(name) ? (args.input ?? '') : args,
    ...(abilities.endpoint ? {} : optionsOf(ofCall)),
  }))
  const ofText = withPhase(message, abilities)
  const text = toTextParts(message).map((part) => ({ ...part, ...optionsOf(ofText) }))
  return [...(abilities.endpoint ? [] : toReasoning(message, isOfTurn, abilities)), ...text, ...calls]
}

function withPhase(
  { providerMetadata, phase }: AssistantMessage,
  { phasesOf }: VendorQuirks,
): ProviderMetadata | undefined {
  if (phase === undefined || phasesOf === undefined) return providerMetadata
  return { ...providerMetadata, [phasesOf]: { ...providerMetadata?.[phasesOf], phase } }
}

/** Reasoning that no vendor has signed matters between the steps of one turn; in later ones, servers refuse it. What another has signed is left out. */
function toReasoning(
  { reasoning = [], toolCalls }: AssistantMessage,
  isOfTurn: boolean,
  { vendor }: VendorQuirks,
): LanguageModelV3ReasoningPart[] {
  const isStep = isOfTurn && toolCalls !== undefined && toolCalls.length > 0
  return reasoning
    .filter(({ providerMetadata }) => (providerMetadata ? vendor === undefined || vendor in providerMetadata : isStep))
    .map(({ text, providerMetadata }) => ({ type: 'reasoning', text, ...optionsOf(providerMetadata) }))
}

function optionsOf(metadata: ProviderMetadata | undefined): { providerOptions?: SharedV3ProviderMetadata } {
  return metadata ? { providerOptions: metadata as SharedV3ProviderMetadata } : {}
}

type ToolOutput = LanguageModelV3ToolResultPart['output']

/** Attachments that the vendor takes in a result go along; the others are named. */
function toOutput(
  { content, attachments = [], isError }: Extract<Message, { role: 'tool' }>,
  { toolFiles }: VendorQuirks,
): ToolOutput {
  const taken = isError ? [] : attachments.filter(({ mediaType }) => toolFiles?.test(mediaType))
  const notes = attachments.filter((each) => !taken.includes(each)).map(({ mediaType }) => `[attachment: ${mediaType}]`)
  const text = [isError ? `Error: ${content}` : content, ...notes].join('\n')
  if (isError) return { type: 'error-text', value: text }
  if (taken.length === 0) return { type: 'text', value: text }
  return {
    type: 'content',
    value: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...taken.map(toContent)],
  }
}

function toContent({ mediaType, data, name }: Attachment): Extract<ToolOutput, { type: 'content' }>['value'][number] {
  const isImage = mediaType.startsWith('image/')
  if (data instanceof URL && data.protocol !== 'data:') {
    return isImage ? { type: 'image-url', url: data.href } : { type: 'file-url', url: data.href }
  }
  const base64 = encodeBase64(data instanceof URL ? bytesOf(data) : data)
  if (isImage) return { type: 'image-data', data: base64, mediaType }
  return { type: 'file-data', data: base64, mediaType, ...(name === undefined ? {} : { filename: name }) }
}

function toTextParts({ content }: Message): { type: 'text'; text: string }[] {
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function toFile(attachment: Attachment, abilities: Abilities): LanguageModelV3FilePart {
  const { mediaType, name, detail } = attachment
  const data = toFileData(attachment, abilities)
  const address = () => (data instanceof URL ? data.href : `data:${mediaType};base64,${encodeBase64(data)}`)
  const ofPicture = detail === undefined ? undefined : abilities.optionsOfPicture?.(detail, address)
  return {
    type: 'file',
    mediaType,
    data,
    ...(name === undefined ? {} : { filename: name }),
    ...optionsOf(ofPicture),
  }
}

function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

/** Nothing is fetched here: a user's URL may point at hosts that only this machine can reach. */
function toFileData(attachment: Attachment, { supportedUrls, takesAddresses }: Abilities) {
  const { data, mediaType } = attachment
  if (!(data instanceof URL)) return data
  if (data.protocol === 'data:') return bytesOf(data)
  const patterns = Object.entries(supportedUrls)
    .filter(([type]) => type === '*' || type === '*/*' || type === mediaType || type === `${mediaType.split('/')[0]}/*`)
    .flatMap(([, list]) => list)
  if (takesAddresses || patterns.some((pattern) => pattern.test(data.href))) return data
  throw new NotTaken(`The model does not accept ${mediaType} from ${data.origin}. Send the file itself`, attachment)
}

function bytesOf({ href }: URL): Uint8Array {
  const comma = href.indexOf(',')
  const payload = decodeURIComponent(href.slice(comma + 1))
  return Buffer.from(payload, /;base64$/i.test(href.slice(0, comma)) ? 'base64' : 'utf8')
}

/**
 * The parts of an answer that one part of the stream stands for: none, one, or usage and finish together.
 *
 * @param textTools see {@link textToolsOf}
 * @param isEmpty true as long as the answer has neither text nor calls
 */
export function fromStreamPart(part: LanguageModelV3StreamPart, textTools = NO_NAMES, isEmpty = true): LLMPart[] {
  switch (part.type) {
    case 'text-delta':
    case 'text-end':
      return toTextPiece('delta' in part ? part.delta : '', part.providerMetadata)
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
      return toThinking(part)
    case 'tool-call': {
      const { toolCallId: id, toolName: name, input, providerMetadata } = part
      const args = textTools.has(name) ? parseText(input) : parseArguments(input)
      const call = {
        id,
        name,
        arguments: args ?? {},
        ...(args ? {} : { unreadable: input }),
        ...(providerMetadata ? { providerMetadata } : {}),
      }
      return [{ type: 'tool_call', call }]
    }
    case 'finish':
      return [...usageOf(part.usage), readFinish(part, isEmpty)]
    case 'error':
      throw part.error
    default:
      return []
  }
}

function toTextPiece(text: string, providerMetadata: ProviderMetadata | undefined): LLMPart[] {
  if (text === '' && !providerMetadata) return []
  return [{ type: 'text', text, ...(providerMetadata ? { providerMetadata } : {}) }]
}

/** A signature comes at the end of a block, encrypted data with no text at all. */
function toThinking(
  part: Extract<LanguageModelV3StreamPart, { type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }>,
): LLMPart[] {
  const { id: blockId, providerMetadata } = part
  const text = part.type === 'reasoning-delta' ? part.delta : ''
  if (text === '' && !providerMetadata) return []
  return [{ type: 'reasoning', text, blockId, ...(providerMetadata ? { providerMetadata } : {}) }]
}

/** The arguments of a call; undefined where they are no JSON object. */
function parseArguments(input: string): Record<string, unknown> | undefined {
  const value = input.trim() === '' ? {} : parseJson(input)
  return isObject(value) ? { ...value } : undefined
}

/** The SDK hands the text of a call on as JSON. */
function parseText(input: string): Record<string, unknown> | undefined {
  const value = parseJson(input)
  return typeof value === 'string' ? { input: value } : undefined
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
