import type { Usage } from '../../../protocols/run.ts'
import { outputItemId } from './ids.ts'
import type { FunctionCall, OutputItem, OutputMessage, ResponseRecord, TokenUsage } from './schema.ts'

/** What a response consists of, in the order in which it came: pieces of text, calls of tools, and how it ended. */
export type Step = string | CallStep | EndStep

export interface CallStep {
  readonly call: { readonly callId: string; readonly name: string; readonly arguments: string }
}

/** A response ends once. Only one that ran in the background can be cancelled after that. */
export interface EndStep {
  readonly end: 'completed' | 'failed' | 'cancelled'
  /** Unix seconds. */
  readonly at: number
  readonly usage?: Readonly<Usage>
  /** Why it failed. */
  readonly error?: string
  /** For which limit of its own the agent stopped. */
  readonly incomplete?: string
}

/** A step as a finished response keeps it: of a text only its length, since the text itself is in the output. */
export type PackedStep = number | CallStep | EndStep

export function isEnd(step: Step | undefined): step is EndStep {
  return typeof step === 'object' && 'end' in step
}

/** The output of a response as it grows. */
export class Output {
  readonly #responseId: string
  readonly #done: OutputItem[] = []
  #text: string | undefined
  #hasMessage = false

  constructor(responseId: string) {
    this.#responseId = responseId
  }

  /** Whether a message is under way. */
  get isOpen(): boolean {
    return this.#text !== undefined
  }

  /** Whether there is, or was, a message. */
  get hasMessage(): boolean {
    return this.#hasMessage
  }

  /** Where the message that is under way stands, or the next item will. */
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

/** All that an agent has said, without the calls in between. */
export function textOf(steps: readonly Step[]): string {
  let text = ''
  for (const step of steps) if (typeof step === 'string') text += step
  return text
}

export function packSteps(steps: readonly Step[]): PackedStep[] {
  return steps.map((step) => (typeof step === 'string' ? step.length : step))
}

/** @param output of the same response: it has the text */
export function unpackSteps(packed: readonly PackedStep[], output: readonly OutputItem[]): Step[] {
  const text = output.map((item) => (item.type === 'message' ? (item.content[0]?.text ?? '') : '')).join('')
  let start = 0
  return packed.map((step) => {
    if (typeof step !== 'number') return step
    start += step
    return text.slice(start - step, start)
  })
}
