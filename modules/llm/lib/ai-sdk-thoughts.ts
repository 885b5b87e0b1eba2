import type {
  LanguageModelV3ReasoningPart,
  LanguageModelV3StreamPart,
  SharedV3ProviderMetadata,
} from '@ai-sdk/provider'
import type { Run } from 'agent-host'

/** What a vendor wants to see again beside a call that its model made. */
export interface Remembered {
  /** What the model thought before the call, signed by the vendor. */
  readonly reasoning: readonly LanguageModelV3ReasoningPart[]
  readonly metadata: SharedV3ProviderMetadata | undefined
}

/** More runs than these are hardly in the middle of a step at once. */
const MOST_RUNS = 1000

/**
 * Vendors sign what their models think, and want it back unchanged together with the results of the tools: Anthropic's
 * thinking blocks, Gemini's thought signatures, OpenAI's encrypted reasoning. A message has no place for that: it is
 * kept here, for the latest runs. By their id: a run may be handed on as another view of itself.
 */
export class Thoughts {
  readonly #ofRuns = new Map<string, RunThoughts>()

  of({ id }: Run): RunThoughts {
    const known = this.#ofRuns.get(id) ?? new RunThoughts()
    this.#ofRuns.delete(id)
    this.#ofRuns.set(id, known)
    const [oldest] = this.#ofRuns.keys()
    if (this.#ofRuns.size > MOST_RUNS && oldest !== undefined) this.#ofRuns.delete(oldest)
    return known
  }
}

export class RunThoughts {
  readonly #byCall = new Map<string, Remembered>()

  recall(callId: string): Remembered | undefined {
    return this.#byCall.get(callId)
  }

  /** Takes the parts of one answer, one after the other. */
  listen(): (part: LanguageModelV3StreamPart) => void {
    // Blocks of thought since the last call, by the id that the stream gives them.
    let open = new Map<string, LanguageModelV3ReasoningPart>()
    return (part) => {
      switch (part.type) {
        case 'reasoning-start':
        case 'reasoning-delta':
        case 'reasoning-end': {
          const { text = '', providerOptions } = open.get(part.id) ?? {}
          // The latest stands for the whole block: a signature comes at its end.
          const metadata = part.providerMetadata ?? providerOptions
          const delta = part.type === 'reasoning-delta' ? part.delta : ''
          open.set(part.id, {
            type: 'reasoning',
            text: text + delta,
            ...(metadata ? { providerOptions: metadata } : {}),
          })
          break
        }
        case 'tool-call':
          this.#byCall.set(part.toolCallId, { reasoning: [...open.values()], metadata: part.providerMetadata })
          open = new Map()
          break
        default:
      }
    }
  }
}
