import { list, OBJECT, object, requireGiven, TEXT } from '../given.ts'
import type { LLMPart } from './llm.ts'
import type { ProviderMetadata, Reasoning } from './message.ts'

const ANSWER = object({ text: TEXT, reasoning: list(OBJECT) })

/** Answer of a model, as far as it has come. */
export interface CollectedAnswer {
  text: string
  reasoning: Reasoning[]
  /** Metadata of the text that its vendor expects back. */
  providerMetadata?: ProviderMetadata | undefined
  /** Stop sequence that ended it, where the vendor says which. */
  stopSequence?: string
}

/**
 * Puts an answer together from the parts of {@link LLM.generate}: pieces of text and of blocks of reasoning.
 *
 * @example
 * ```ts
 * export async function answerOf(llm: LLM, messages: readonly Message[], run: Run): Promise<string> {
 *   const parts = new AnswerParts()
 *   for await (const part of llm.generate({ messages }, run)) parts.take(part)
 *   return parts.answer.text
 * }
 * ```
 */
export class AnswerParts {
  readonly answer: CollectedAnswer
  #openBlock: { readonly id: string | undefined } | undefined

  /** @param answer gets the parts */
  constructor(answer: CollectedAnswer = { text: '', reasoning: [] }) {
    if (typeof answer?.text !== 'string' || !Array.isArray(answer.reasoning)) requireGiven(ANSWER, answer, 'answer')
    this.answer = answer
  }

  /** Takes the next part; calls only end a block. */
  take(part: LLMPart): void {
    // By hand: models give thousands of them.
    if (typeof part !== 'object' || part === null) requireGiven(OBJECT, part, 'part')
    if (part.type === 'reasoning') this.#think(part)
    else if (part.type === 'text' || part.type === 'tool_call') this.#openBlock = undefined
    else if (part.type === 'finish' && part.stopSequence !== undefined) this.answer.stopSequence = part.stopSequence
    if (part.type !== 'text') return
    if (typeof part.text !== 'string') requireGiven(TEXT, part.text, 'part.text')
    this.answer.text += part.text
    if (part.providerMetadata) this.answer.providerMetadata = part.providerMetadata
  }

  #think({ text, blockId, providerMetadata }: Extract<LLMPart, { type: 'reasoning' }>): void {
    const { reasoning } = this.answer
    const isOpen = this.#openBlock !== undefined && this.#openBlock.id === blockId
    const before = isOpen ? reasoning.pop() : undefined
    const metadata = providerMetadata ?? before?.providerMetadata
    this.#openBlock = { id: blockId }
    reasoning.push({ text: (before?.text ?? '') + text, ...(metadata ? { providerMetadata: metadata } : {}) })
  }
}
