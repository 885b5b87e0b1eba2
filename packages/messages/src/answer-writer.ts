import type { Attachment, ProviderMetadata, RunEvent, RunResult, Usage } from 'agent-host'
import type { Answer, AnswerBlock } from './schema.ts'
import type { Signatures } from './signatures.ts'

/** Event of a streamed answer. */
export type WireEvent = { readonly type: string } & Readonly<Record<string, unknown>>

/** Facts of an answer. */
export interface AnswerOptions {
  readonly id: string
  /** Name in the request. */
  readonly model: string
  readonly signatures: Signatures
  /** Sequences of the request that end a text. */
  readonly stopSequences: readonly string[]
  /** False where the client has turned thinking off. */
  readonly showsThinking: boolean
  /** Takes the events of the answer as they come. */
  readonly emit: (event: WireEvent) => void | Promise<void>
}

type Thinking = Extract<AnswerBlock, { type: 'thinking' }>
type Calls = NonNullable<Parameters<Signatures['seal']>[0]['calls']>

/** Makes the blocks of an answer from the events of its run, in their order. */
export class AnswerWriter {
  readonly #options: AnswerOptions
  readonly #content: AnswerBlock[] = []
  /** Kind of the last block while it is open. */
  #open: { readonly block: AnswerBlock; readonly blockId?: string | undefined } | undefined
  #metadata: ProviderMetadata | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(options: AnswerOptions) {
    this.#options = options
  }

  /** Takes the next event. The promise is fulfilled when there is room for more. */
  take(event: RunEvent): Promise<void> {
    // Sealing takes its time, and events come on.
    this.#last = this.#last.then(() => this.#write(event))
    return this.#last
  }

  /** Returns the first event. */
  start(): WireEvent {
    return { type: 'message_start', message: this.#toAnswer([], NO_END, NO_USAGE) }
  }

  /** Ends the answer. @param more text that follows it */
  async end(result: RunResult, more = ''): Promise<Answer> {
    await this.#last
    if (more !== '') await this.#say(more)
    await this.#close()
    const end = toEnd(result, this.#options.stopSequences)
    const usage = toUsage(result.usage)
    await this.#options.emit({ type: 'message_delta', delta: end, usage })
    await this.#options.emit({ type: 'message_stop' })
    return this.#toAnswer(this.#content, end, usage)
  }

  #toAnswer(content: AnswerBlock[], end: End, usage: Answer['usage']): Answer {
    const { id, model } = this.#options
    return { id, type: 'message', role: 'assistant', model, content, ...end, usage }
  }

  #write(event: RunEvent): Promise<void> | undefined {
    switch (event.type) {
      case 'text':
        return this.#say(event.text)
      case 'attachment':
        return this.#say(toMarkdown(event.attachment))
      case 'reasoning':
        return this.#options.showsThinking ? this.#think(event) : undefined
      case 'tool_call':
        return this.#close()
      case 'pending':
        return this.#call(event)
      default:
        return undefined
    }
  }

  async #say(text: string): Promise<void> {
    if (text === '') return
    const block = this.#open?.block.type === 'text' ? this.#open.block : await this.#begin({ type: 'text', text: '' })
    if (block.type === 'text') block.text += text
    await this.#delta({ type: 'text_delta', text })
  }

  async #think({ text, blockId, providerMetadata }: Extract<RunEvent, { type: 'reasoning' }>): Promise<void> {
    const isSame = this.#open?.block.type === 'thinking' && this.#open.blockId === blockId
    if (!isSame && text === '') return this.#redact({ thinking: providerMetadata ?? {} })
    const block = isSame
      ? this.#open?.block
      : await this.#begin({ type: 'thinking', thinking: '', signature: '' }, blockId)
    if (block?.type === 'thinking') block.thinking += text
    if (providerMetadata) this.#metadata = providerMetadata
    if (text !== '') await this.#delta({ type: 'thinking_delta', thinking: text })
  }

  /** A call of the client's tool. What its vendor wants back stands before it. */
  async #call({ pending, providerMetadata }: Extract<RunEvent, { type: 'pending' }>): Promise<void> {
    if (pending.kind !== 'client_tool') return
    const { callId: id, name, arguments: input } = pending
    if (providerMetadata) await this.#redact({ calls: { [id]: providerMetadata } })
    await this.#begin({ type: 'tool_use', id, name, input })
    await this.#delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) })
    await this.#close()
  }

  async #redact(data: { readonly thinking?: ProviderMetadata; readonly calls?: Calls }): Promise<void> {
    await this.#begin({ type: 'redacted_thinking', data: await this.#options.signatures.seal(data) })
    await this.#close()
  }

  async #begin<T extends AnswerBlock>(block: T, blockId?: string): Promise<T> {
    await this.#close()
    this.#content.push(block)
    this.#open = { block, blockId }
    // The input of a call comes as text.
    const content_block = block.type === 'tool_use' ? { ...block, input: {} } : { ...block }
    await this.#options.emit({ type: 'content_block_start', index: this.#content.length - 1, content_block })
    return block
  }

  async #close(): Promise<void> {
    const { block } = this.#open ?? {}
    if (block === undefined) return
    if (block.type === 'thinking' && this.#metadata) await this.#sign(block, this.#metadata)
    this.#open = undefined
    this.#metadata = undefined
    await this.#options.emit({ type: 'content_block_stop', index: this.#content.length - 1 })
  }

  async #sign(block: Thinking, thinking: ProviderMetadata): Promise<void> {
    block.signature = await this.#options.signatures.seal({ thinking })
    await this.#delta({ type: 'signature_delta', signature: block.signature })
  }

  #delta(delta: WireEvent): void | Promise<void> {
    return this.#options.emit({ type: 'content_block_delta', index: this.#content.length - 1, delta })
  }
}

const NO_USAGE: Answer['usage'] = toUsage({ inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 })

/** The protocol counts what came from the cache apart. */
function toUsage({ inputTokens, outputTokens, cachedInputTokens }: Omit<Usage, 'reasoningTokens'>): Answer['usage'] {
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens),
    output_tokens: outputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedInputTokens,
  }
}

/** Reasons by which modules mark an answer that is not complete, in the words of this protocol; any other is the end of a turn. */
const STOP_REASONS: Readonly<Record<string, string>> = {
  max_output_tokens: 'max_tokens',
  max_tokens: 'max_tokens',
  content_filter: 'refusal',
}

/** Why an answer has ended, and at which sequence. */
type End = Pick<Answer, 'stop_reason' | 'stop_sequence'>

const NO_END: End = { stop_reason: null, stop_sequence: null }

function toEnd({ pending, incompleteReason = '', stopSequence }: RunResult, known: readonly string[]): End {
  const to = (stop_reason: string, stop_sequence: string | null = null): End => ({ stop_reason, stop_sequence })
  if (pending.some(({ kind }) => kind === 'client_tool')) return to('tool_use')
  const limit = STOP_REASONS[incompleteReason]
  if (limit !== undefined) return to(limit)
  // The agent may have sequences of its own, which are none of the client's.
  return stopSequence !== undefined && known.includes(stopSequence) ? to('stop_sequence', stopSequence) : to('end_turn')
}

/** The protocol's answers hold no files: one is shown as a link. */
function toMarkdown({ mediaType, data, name }: Attachment): string {
  const url = data instanceof URL ? data.href : `data:${mediaType};base64,${Buffer.from(data).toString('base64')}`
  const link = `[${(name ?? mediaType).replaceAll(/[[\]\n]/g, ' ')}](${url})`
  return `\n${mediaType.startsWith('image/') ? '!' : ''}${link}\n`
}
