import { AnswerParts } from '../../protocols/answer-parts.ts'
import type { ProviderMetadata, Reasoning } from '../../protocols/message.ts'
import type { RunEvent } from '../../run/run-event.ts'

/** Name of what is sealed. */
export const REASONING = 'reasoning'

/** Reasoning before a part of an answer, with the data by which vendors know it again. JSON. */
export interface ReasoningData {
  readonly reasoning: readonly Reasoning[]
  /** Data of calls, by their ids. */
  readonly calls: Readonly<Record<string, ProviderMetadata>>
}

/** Seals reasoning for a client that keeps it until its next request. */
export type SealReasoning = (data: ReasoningData) => string

const NO_CALLS: ReasoningData['calls'] = Object.freeze({})

/** Collects the reasoning of a run, and seals it as soon as something else follows. */
export class ReasoningCollector {
  readonly #seal: SealReasoning
  #parts = new AnswerParts()

  constructor(seal: SealReasoning) {
    this.#seal = seal
  }

  /** Takes the next event. Returns what is sealed before it; undefined where there is nothing. */
  take(event: RunEvent): string | undefined {
    switch (event.type) {
      case 'reasoning':
        this.#parts.take(event)
        return undefined
      case 'tool_call':
        return this.#sealBefore(event.call)
      case 'pending':
        return this.#sealBefore({ id: event.pending.callId, providerMetadata: event.providerMetadata })
      case 'text':
      case 'attachment':
      case 'end':
        return this.#flush(NO_CALLS)
      default:
        return undefined
    }
  }

  #sealBefore({ id, providerMetadata }: { id: string; providerMetadata?: ProviderMetadata | undefined }) {
    return this.#flush(providerMetadata ? { [id]: providerMetadata } : NO_CALLS)
  }

  #flush(calls: ReasoningData['calls']): string | undefined {
    const { reasoning } = this.#parts.answer
    if (reasoning.length === 0 && calls === NO_CALLS) return undefined
    this.#parts = new AnswerParts()
    return this.#seal({ reasoning, calls })
  }
}
