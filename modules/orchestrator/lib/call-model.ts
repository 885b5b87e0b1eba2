import type {
  FinishReason,
  LLM,
  LLMPart,
  LLMRequest,
  Message,
  ProviderMetadata,
  Reasoning,
  Run,
  ToolCall,
} from 'agent-host'
import type { Budget } from './budget.ts'

export interface Answer {
  readonly text: string
  readonly calls: readonly ToolCall[]
  /** The answer for the next request: with its reasoning and vendor metadata. */
  readonly message: Extract<Message, { role: 'assistant' }>
  /** True for an answer that a limit of the model has ended. */
  readonly isCut: boolean
}

export interface CallOptions {
  /** View of the run to call the model with. Default: that of the budget. */
  readonly run?: Run
  /** Gets the text as it comes; `false`, or a promise of it, ends the answer there. */
  readonly onText?: (piece: string) => unknown
  readonly onReasoning?: (piece: string) => void | Promise<void>
}

/** One answer of the model, its usage and limits reported to the run. */
export async function callModel(
  llm: LLM,
  request: LLMRequest,
  budget: Budget,
  { run = budget.run, onText, onReasoning }: CallOptions = {},
): Promise<Answer> {
  const heard = new HeardAnswer()
  let isCounted = false
  for await (const part of llm.generate(request, run)) {
    heard.take(part)
    if (part.type === 'text' && part.text !== '') {
      if ((await onText?.(part.text)) === false) break
    } else if (part.type === 'reasoning' && part.text !== '') await onReasoning?.(part.text)
    else if (part.type === 'usage') {
      isCounted = true
      run.addUsage(part.usage)
    } else if (part.type === 'finish') markCutOff(part.reason, run)
  }
  if (!isCounted) budget.estimate(request.messages, heard.text)
  return heard
}

/** The model's own limits, by the names that the responses API has for them. */
function markCutOff(reason: FinishReason, run: Run): void {
  if (reason === 'length') run.markIncomplete('max_output_tokens')
  else if (reason === 'content_filter') run.markIncomplete('content_filter')
}

/** Puts an answer together from its parts. */
class HeardAnswer implements Answer {
  readonly calls: ToolCall[] = []
  text = ''
  isCut = false
  readonly #reasoning: Reasoning[] = []
  #block: { readonly id: string | undefined } | undefined
  #providerMetadata: ProviderMetadata | undefined

  get message(): Answer['message'] {
    return {
      role: 'assistant',
      content: this.text,
      ...(this.#reasoning.length > 0 ? { reasoning: this.#reasoning } : {}),
      ...(this.calls.length > 0 ? { toolCalls: this.calls } : {}),
      ...(this.#providerMetadata ? { providerMetadata: this.#providerMetadata } : {}),
    }
  }

  take(part: LLMPart): void {
    if (part.type === 'reasoning') this.#think(part)
    else this.#block = undefined
    if (part.type === 'text') {
      this.text += part.text
      this.#providerMetadata = part.providerMetadata ?? this.#providerMetadata
    } else if (part.type === 'tool_call') this.calls.push(part.call)
    else if (part.type === 'finish') this.isCut = part.reason === 'length' || part.reason === 'content_filter'
  }

  #think({ text, blockId, providerMetadata }: Extract<LLMPart, { type: 'reasoning' }>): void {
    const isOpen = this.#block !== undefined && this.#block.id === blockId
    const before = isOpen ? this.#reasoning.pop() : undefined
    const metadata = providerMetadata ?? before?.providerMetadata
    this.#block = { id: blockId }
    this.#reasoning.push({ text: (before?.text ?? '') + text, ...(metadata ? { providerMetadata: metadata } : {}) })
  }
}
