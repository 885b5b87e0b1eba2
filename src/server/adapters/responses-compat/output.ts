import { type CallStep, type EndStep, isEnd, type Step } from '../../../durable/steps.ts'
import type { Usage } from '../../../protocols/run.ts'
import { outputItemId } from './ids.ts'
import type { FunctionCall, OutputItem, OutputMessage, ResponseRecord, TokenUsage } from './schema.ts'

/** The output of a response as it grows. */
export class Output {
  readonly #responseId: string
  readonly #done: OutputItem[] = []
  #text: string | undefined
  #hasMessage = false

  constructor(responseId: string) {
    this.#responseId = responseId
  }

  /** True while a message is under way. */
  get isOpen(): boolean {
    return this.#text !== undefined
  }

  /** True once there is, or was, a message. */
  get hasMessage(): boolean {
    return this.#hasMessage
  }

  /** Index of the message that is under way, or of the next item. */
  get index(): number {
    return this.#done.length
  }

  addText(text: string): void {
    this.#text = (this.#text ?? '') + text
    this.#hasMessage = true
  }

  addCall({ call }: CallStep): FunctionCall {
    const id = outputItemId('fc', this.#responseId, this.index)
    const { callId, name } = call
    const item: FunctionCall = {
      type: 'function_call',
      id,
      call_id: callId,
      name,
      arguments: call.arguments,
      status: 'completed',
    }
    this.#done.push(item)
    return item
  }

  /** The message that is under way. */
  message(status: OutputMessage['status']): OutputMessage {
    const id = outputItemId('msg', this.#responseId, this.index)
    const content = { type: 'output_text' as const, text: this.#text ?? '', annotations: [] }
    return { type: 'message', id, status, role: 'assistant', content: [content] }
  }

  closeMessage(): OutputMessage {
    const message = this.message('completed')
    this.#done.push(message)
    this.#text = undefined
    return message
  }

  items(statusOfOpen: OutputMessage['status']): OutputItem[] {
    return this.isOpen ? [...this.#done, this.message(statusOfOpen)] : [...this.#done]
  }
}

/** The record as it stands after these steps. */
export function recordAfter(begun: ResponseRecord, steps: readonly Step[]): ResponseRecord {
  const output = new Output(begun.id)
  let record = begun
  for (const step of steps) {
    if (typeof step === 'string') output.addText(step)
    else if (isEnd(step)) record = endRecord(record, output, step)
    else {
      if (output.isOpen) output.closeMessage()
      output.addCall(step)
    }
  }
  return record === begun ? { ...begun, output: output.items('in_progress') } : record
}

/** The record as this end leaves it. What was complete stays so, whatever comes afterwards. */
export function endRecord(record: ResponseRecord, output: Output, step: EndStep): ResponseRecord {
  const { end, at, usage, error, incomplete } = step
  if (end === 'completed' && (output.isOpen || !output.hasMessage)) output.closeMessage()
  return {
    ...record,
    status: end,
    completed_at: end === 'completed' ? at : record.completed_at,
    output: output.items('incomplete'),
    error: error === undefined ? null : { code: 'server_error', message: error },
    incomplete_details: incomplete === undefined ? record.incomplete_details : { reason: incomplete },
    usage: usage ? toTokenUsage(usage) : record.usage,
  }
}

export function toTokenUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): TokenUsage {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
