import type { ClientCode } from '../../../errors.ts'
import type { RunEvent } from '../../../run/run-event.ts'
import type { PendingCall } from '../../../run/waiting/pending-call.ts'
import { type Completion, type Ending, isClientCall, toFinishReason, toToolCall, toUsage } from './completion.ts'
import { eventToContent } from './event-to-content.ts'

/** The events of one streamed completion. What they share is put together once. */
export class ChunkWriter {
  readonly #head: string
  readonly #textHead: string
  #calls = 0

  constructor({ id, created, model }: Completion) {
    const shared = `{"id":"${id}","object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)}`
    // Joined into flat strings: every chunk would have to be put together from their pieces otherwise.
    this.#head = ['data: ', shared, ',"choices":['].join('')
    this.#textHead = [this.#head, '{"index":0,"delta":{"content":'].join('')
  }

  /** The first chunk: openai's stream helper throws if it has no role. */
  start(): string {
    return this.#delta('"role":"assistant","content":""')
  }

  /** The chunk of an event; empty for events outside the answer. */
  write(event: RunEvent): string {
    if (event.type === 'text') return this.text(event.text)
    if (event.type === 'reasoning') return event.text === '' ? '' : this.reasoning(event.text)
    if (event.type === 'pending' && isClientCall(event.pending)) return this.call(event.pending)
    const text = eventToContent(event)
    return text === '' ? '' : this.text(text)
  }

  reasoning(text: string): string {
    return this.#delta(`"reasoning_content":${JSON.stringify(text)}`)
  }

  text(text: string): string {
    return this.#textHead + JSON.stringify(text) + DELTA_TAIL
  }

  /** @param includeUsage whether the client asked for the usage, which is a chunk of its own */
  end(ending: Ending, includeUsage: boolean): string {
    const last = `${this.#head}{"index":0,"delta":{},"finish_reason":"${toFinishReason(ending)}"}]}\n\n`
    const counted = includeUsage ? `${this.#head}],"usage":${JSON.stringify(toUsage(ending.usage))}}\n\n` : ''
    return `${last}${counted}${DONE}`
  }

  failure(message: string, code: ClientCode | 'server_error' = 'server_error'): string {
    const type = code === 'context_length_exceeded' ? 'invalid_request_error' : code
    const error = { message, type, code }
    return `data: ${JSON.stringify({ error })}\n\n${DONE}`
  }

  /** A call comes whole. */
  call(pending: PendingCall): string {
    const call = { index: this.#calls++, ...toToolCall(pending) }
    return this.#delta(`"tool_calls":[${JSON.stringify(call)}]`)
  }

  #delta(fields: string): string {
    return `${this.#head}{"index":0,"delta":{${fields}${DELTA_TAIL}`
  }
}

const DELTA_TAIL = '},"finish_reason":null}]}\n\n'
const DONE = 'data: [DONE]\n\n'
