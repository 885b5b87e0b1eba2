import {
  AnswerParts,
  type FinishReason,
  type LLM,
  type LLMPart,
  type LLMRequest,
  type Message,
  type ReasoningBlock,
  type Run,
  type ToolCall,
} from 'agent-host'
import type { Budget } from './budget.ts'

export interface ModelAnswer {
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
  /** Gets the thinking with its block; data of the vendor may come without a text. */
  readonly onReasoning?: (piece: string, block: ReasoningBlock) => void | Promise<void>
}

/** One answer of the model, its usage and limits reported to the run. */
export async function callModel(
  llm: LLM,
  request: LLMRequest,
  budget: Budget,
  { run = budget.run, onText, onReasoning }: CallOptions = {},
): Promise<ModelAnswer> {
  const heard = new HeardAnswer()
  let isCounted = false
  for await (const part of llm.generate(request, run)) {
    heard.take(part)
    if (part.type === 'text' && part.text !== '') {
      if ((await onText?.(part.text)) === false) break
    } else if (part.type === 'reasoning') {
      const { type: _type, text, ...block } = part
      if (text !== '' || block.providerMetadata) await onReasoning?.(text, block)
    } else if (part.type === 'usage') {
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

/** An answer while it comes. */
class HeardAnswer implements ModelAnswer {
  readonly calls: ToolCall[] = []
  isCut = false
  readonly #parts = new AnswerParts()

  get text(): string {
    return this.#parts.answer.text
  }

  get message(): ModelAnswer['message'] {
    const { text, reasoning, providerMetadata } = this.#parts.answer
    return {
      role: 'assistant',
      content: text,
      ...(reasoning.length > 0 ? { reasoning } : {}),
      ...(this.calls.length > 0 ? { toolCalls: this.calls } : {}),
      ...(providerMetadata ? { providerMetadata } : {}),
    }
  }

  take(part: LLMPart): void {
    this.#parts.take(part)
    if (part.type === 'tool_call') this.calls.push(part.call)
    else if (part.type === 'finish') this.isCut = part.reason === 'length' || part.reason === 'content_filter'
  }
}
