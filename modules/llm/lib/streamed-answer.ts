import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import type { LLMPart } from 'agent-host'
import { fromStreamPart, type VendorQuirks } from './ai-sdk-convert.ts'
import { UnusableAnswer } from './ai-sdk-retry.ts'
import type { ChatFields } from './chat-fields.ts'
import { ThoughtTags } from './thought-tags.ts'

/** An answer while it comes. Calls are held back until the vendor has ended it: half an answer calls nothing. */
export class StreamedAnswer {
  /** True once the vendor has ended it. */
  isWhole = false
  readonly #quirks: VendorQuirks
  readonly #textTools: ReadonlySet<string>
  readonly #model: string
  readonly #thoughts: ThoughtTags | undefined
  readonly #fields: ChatFields | undefined
  readonly #calls: Extract<LLMPart, { type: 'tool_call' }>[] = []
  /** Ids of calls that have begun, and not ended. */
  readonly #begun = new Set<string>()
  #hasText = false
  /** The latest block of reasoning. */
  #block: string | undefined
  #answering: string | undefined

  constructor(quirks: VendorQuirks, textTools: ReadonlySet<string>, model: string, fields?: ChatFields) {
    this.#quirks = quirks
    this.#textTools = textTools
    this.#model = model
    this.#fields = fields
    this.#thoughts = quirks.hasThoughtTags ? new ThoughtTags() : undefined
  }

  /** The parts that can be passed on. */
  take(part: LanguageModelV3StreamPart): LLMPart[] {
    if (part.type === 'response-metadata') this.#answering = part.modelId
    else if (part.type === 'tool-input-start') this.#begun.add(part.id)
    if (part.type === 'finish') return this.#finish(part)
    return this.#read(part).flatMap((own) => [...this.#before(own), ...this.#keep(own)])
  }

  #read(part: LanguageModelV3StreamPart): LLMPart[] {
    const isEmpty = !this.#hasText && this.#calls.length === 0 && this.#begun.size === 0
    return fromStreamPart(part, this.#textTools, isEmpty)
  }

  /** Fields that the endpoint wants back: they belong to the thoughts before a text or a call. */
  #before(part: LLMPart): LLMPart[] {
    if (part.type !== 'reasoning') return this.#fields?.take(this.#block) ?? []
    this.#block = part.blockId
    return []
  }

  #keep(part: LLMPart): LLMPart[] {
    if (part.type === 'tool_call') {
      this.#calls.push(part)
      this.#begun.delete(part.call.id)
      return []
    }
    const parts = part.type === 'text' && this.#thoughts ? this.#thoughts.take(part.text) : [part]
    this.#hasText ||= parts.some((each) => each.type === 'text' && each.text !== '')
    return parts
  }

  #finish(part: Extract<LanguageModelV3StreamPart, { type: 'finish' }>): LLMPart[] {
    this.isWhole = !(this.#quirks.alwaysFinishes && hasNoReason(part))
    if (!this.isWhole) return []
    const rest = this.#thoughts?.end() ?? []
    this.#hasText ||= rest.some(({ type }) => type === 'text')
    const ended = this.#read(part).map((own) => this.#nameModel(own))
    return [...rest, ...(this.#fields?.take(this.#block) ?? []), ...this.#callsOf(ended.at(-1)), ...ended]
  }

  /** A limit may have cut off the last call, or those after it. */
  #callsOf(end: LLMPart | undefined): LLMPart[] {
    if (end?.type === 'finish' && (end.reason === 'length' || end.reason === 'content_filter')) return []
    if (this.#begun.size > 0) throw new UnusableAnswer('The model began the call of a tool, and did not end it')
    const fields = this.#fields
    return fields ? this.#calls.map((part) => ({ ...part, call: fields.mark(part.call) })) : this.#calls
  }

  /** Usage belongs to the requested model, even if another one answered. */
  #nameModel(part: LLMPart): LLMPart {
    if (part.type === 'usage') return { ...part, model: this.#model }
    const answering = this.#answering ?? this.#model
    return part.type === 'finish' && answering !== this.#model ? { ...part, model: answering } : part
  }
}

/** So does the SDK finish a stream that the vendor did not. */
function hasNoReason({ finishReason }: Extract<LanguageModelV3StreamPart, { type: 'finish' }>): boolean {
  return finishReason.unified === 'other' && finishReason.raw === undefined
}
