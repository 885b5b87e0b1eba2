import { fieldsOf, isObject, type LLMPart, type Message, type ProviderMetadata, type ToolCall } from 'agent-host'
import { ChatCalls } from './chat-calls.ts'

type Fields = Readonly<Record<string, unknown>>
type AssistantMessage = Extract<Message, { role: 'assistant' }>

/** Fields of a message that vendors want back, beside the thoughts themselves. */
const KEPT = /^(reasoning|thinking|thought)|^(extra_content|provider_specific_fields)$/
const IN_CHUNK =
  /"(?:(?:reasoning(?!_tokens"|_content")|thinking|thought)\w*|extra_content|provider_specific_fields)"\s*:\s*(?!null|\[\s*\])/
const THOUGHTS = /"reasoning_content"\s*:\s*"/

/**
 * Answer of an endpoint in the style of chat completions: what it has beside texts and calls goes back to that endpoint as it came. The
 * metadata of reasoning and of calls holds it, under the name of the endpoint; `true` stands for the thoughts themselves.
 */
export class ChatFields {
  readonly calls = new ChatCalls()
  readonly #endpoint: string
  readonly #readsThoughts: boolean
  readonly #kept: Record<string, unknown> = {}
  /** Thoughts that the SDK does not read. */
  #thoughts = ''
  #isNew = false

  /** @param readsThoughts true if the SDK passes thoughts on */
  constructor(endpoint: string, readsThoughts: boolean) {
    this.#endpoint = endpoint
    this.#readsThoughts = readsThoughts
  }

  /** Returns true for a chunk that has such a field: few, so that the others are not parsed twice. */
  isIn(data: string): boolean {
    return IN_CHUNK.test(data) || (!this.#readsThoughts && THOUGHTS.test(data))
  }

  /** Takes what a piece of the message has of it. */
  hear(delta: Fields): void {
    const { reasoning_content: thoughts = delta.reasoning } = delta
    for (const [name, value] of Object.entries(delta)) {
      const isThought = name === 'reasoning' || name === 'reasoning_content'
      if (typeof value === 'string' && isThought) this.#think(name, value, value === thoughts)
      else if (KEPT.test(name) && !isEmpty(value)) this.#keep(name, join(this.#kept[name], withoutLabel(value)))
    }
  }

  #think(name: string, text: string, isFirst: boolean): void {
    if (!isFirst || text === '') return
    if (!this.#readsThoughts) this.#thoughts += text
    if (name !== 'reasoning_content' && this.#kept[name] !== true) this.#keep(name, true)
    this.#isNew ||= !this.#readsThoughts
  }

  #keep(name: string, value: unknown): void {
    this.#kept[name] = value
    this.#isNew = true
  }

  /** The part that brings what has come since the last; none, where nothing has. */
  take(blockId: string | undefined): LLMPart[] {
    if (!this.#isNew) return []
    const text = this.#thoughts
    this.#thoughts = ''
    this.#isNew = false
    const metadata = Object.keys(this.#kept).length > 0 ? { [this.#endpoint]: { ...this.#kept } } : undefined
    const block = blockId === undefined ? {} : { blockId }
    return [{ type: 'reasoning', text, ...block, ...(metadata ? { providerMetadata: metadata } : {}) }]
  }

  /** The call with what its pieces have beside name and arguments. */
  mark({ providerMetadata: _, ...call }: ToolCall): ToolCall {
    const fields = this.calls.takeFields(call)
    return fields ? { ...call, providerMetadata: { [this.#endpoint]: fields } } : call
  }
}

function isEmpty(value: unknown): boolean {
  return value == null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Gemini labels pieces of thoughts so; the whole answer is none. */
function withoutLabel(value: unknown): unknown {
  const { google } = fieldsOf(value)
  if (!isObject(google) || !('thought' in google)) return value
  const { thought: _, ...rest } = google
  return { ...fieldsOf(value), google: rest }
}

function join(before: unknown, value: unknown): unknown {
  if (typeof before === 'string' && typeof value === 'string') return before + value
  if (Array.isArray(before) && Array.isArray(value)) return joinBlocks(before, value)
  return isObject(before) && isObject(value) ? { ...before, ...value } : value
}

/** Texts of a block, which comes in pieces. */
const TEXTS = ['text', 'summary', 'thinking'] as const

/** Adds the pieces of a list of blocks. A signature ends a block. */
function joinBlocks(before: readonly unknown[], pieces: readonly unknown[]): unknown[] {
  const blocks = [...before]
  /** Copy of the last block, made once and then changed in place: one event may have a hundred thousand pieces. */
  let own: Record<string, unknown> | undefined
  for (const piece of pieces) {
    const [last, next] = [own ?? fieldsOf(blocks.at(-1)), fieldsOf(piece)]
    if (!continues(last, next)) {
      blocks.push(piece)
      own = undefined
      continue
    }
    own ??= { ...last }
    blocks[blocks.length - 1] = own
    const texts = TEXTS.filter((name) => typeof next[name] === 'string').map((name) => [
      name,
      `${last[name] ?? ''}${next[name]}`,
    ])
    const said = Object.entries(next).filter(([, value]) => !isEmpty(value))
    Object.assign(own, Object.fromEntries(said), Object.fromEntries(texts))
  }
  return blocks
}

function continues(last: Fields, next: Fields): boolean {
  if (last.type !== next.type || last.index !== next.index || last.signature || !hasText(last)) return false
  return !next.id || !last.id || next.id === last.id
}

function hasText(block: Fields): boolean {
  return TEXTS.some((name) => typeof block[name] === 'string')
}

/** Fields of one message of a request, and of its calls. */
export interface GivenFields {
  readonly message: Fields
  readonly calls: readonly Fields[]
}

/** Fields that go back to an endpoint with its answers, in their order; undefined where there are none. */
export function fieldsFor(endpoint: string, messages: readonly Message[]): GivenFields[] | undefined {
  const given = messages.filter(isSent).map((message) => ({
    message: ofMessage(message, endpoint),
    calls: (message.toolCalls ?? []).map(({ providerMetadata }) => providerMetadata?.[endpoint] ?? {}),
  }))
  const isUsed = given.some(({ message, calls }) => [message, ...calls].some((each) => Object.keys(each).length > 0))
  return isUsed ? given : undefined
}

/** Nothing at all is no message. */
function isSent(message: Message): message is AssistantMessage {
  return message.role === 'assistant' && (message.content !== '' || (message.toolCalls ?? []).length > 0)
}

/** Thoughts go back with calls alone: some vendors want them there in all later turns, others refuse them elsewhere. */
function ofMessage({ reasoning = [], toolCalls = [] }: AssistantMessage, endpoint: string): Fields {
  const own = reasoning.filter(({ providerMetadata: metadata }) => isOwn(metadata, endpoint))
  const kept = Object.entries(Object.assign({}, ...own.map(({ providerMetadata }) => providerMetadata?.[endpoint])))
  const [name = 'reasoning_content'] = kept.find(([, value]) => value === true) ?? []
  const thoughts = toolCalls.length > 0 ? own.map(({ text }) => text).join('') : ''
  const opaque = Object.fromEntries(kept.filter(([, value]) => value !== true))
  return thoughts === '' ? opaque : { [name]: thoughts, ...opaque }
}

function isOwn(metadata: ProviderMetadata | undefined, endpoint: string): boolean {
  return metadata === undefined || endpoint in metadata
}

/** Body of a request with what goes back. */
export function putBack(body: string, given: readonly GivenFields[]): string {
  const { messages, ...rest } = fieldsOf(JSON.parse(body))
  if (!Array.isArray(messages)) return body
  let index = 0
  const filled = messages.map((message: unknown) => {
    const fields = fieldsOf(message)
    const own = fields.role === 'assistant' ? given[index++] : undefined
    return own ? withFields(fields, own) : message
  })
  return JSON.stringify({ ...rest, messages: filled })
}

function withFields(message: Fields, { message: own, calls }: GivenFields): Fields {
  const { tool_calls } = message
  if (!Array.isArray(tool_calls)) return { ...message, ...own }
  return { ...message, ...own, tool_calls: tool_calls.map((call: object, index) => ({ ...call, ...calls[index] })) }
}
