import { defineModule, LLM, type LLMPart, type Run, type Static, type ToolCall, Type, type Usage } from 'agent-host'

const Metadata = Type.Optional(
  Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
    description: 'Data that a vendor expects back, by vendor.',
  }),
)

const Thought = Type.Object({
  text: Type.String({ default: '', description: 'Text of the reasoning; empty if there is only encrypted data.' }),
  provider_metadata: Metadata,
})

const Call = Type.Object({
  id: Type.Optional(Type.String({ minLength: 1, description: 'Id of the call. Default: a new one.' })),
  name: Type.String({ description: 'Name of the tool.' }),
  arguments: Type.Record(Type.String(), Type.Unknown(), { default: {}, description: 'Arguments of the call.' }),
  provider_metadata: Metadata,
})

const Reply = Type.Object({
  text: Type.Optional(Type.String({ description: 'Text of the reply.' })),
  reasoning: Type.Optional(
    Type.Union([Type.String(), Type.Array(Thought)], {
      description: 'Reasoning before the text, in one block or several.',
    }),
  ),
  provider_metadata: Metadata,
  tool_calls: Type.Optional(Type.Array(Call, { description: 'Tool calls of the reply, all in one step.' })),
  chunks: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Number of pieces to stream the text in. Default: word by word.' }),
  ),
  delay_ms: Type.Optional(Type.Number({ minimum: 0, description: 'Wait before each piece, in milliseconds.' })),
  error: Type.Optional(Type.String({ description: 'Fail with this message, after the text.' })),
  usage: Type.Optional(
    Type.Object(
      {
        input_tokens: Type.Integer({ minimum: 0, default: 0, description: 'Tokens of the request.' }),
        output_tokens: Type.Integer({ minimum: 0, default: 0, description: 'Tokens of the reply.' }),
        model: Type.Optional(Type.String({ description: 'Name of the model to report the tokens for.' })),
        cached_input_tokens: Type.Optional(Type.Integer({ minimum: 0, description: 'Those read from a cache.' })),
        reasoning_tokens: Type.Optional(Type.Integer({ minimum: 0, description: 'Those of the reasoning.' })),
      },
      { description: 'Tokens to report.' },
    ),
  ),
  finish: Type.Optional(
    Type.Enum(['stop', 'length', 'tool_calls', 'content_filter', 'other'], {
      description: 'Finish reason. Default: tool_calls after calls, otherwise stop.',
    }),
  ),
})
type Reply = Static<typeof Reply>

export default defineModule({
  name: 'MockLLM',
  description: 'Replies with a script, one reply after the other; for tests.',
  provides: [LLM],
  attachments: ['*/*'],
  reasons: true,
  config: Type.Object({
    replies: Type.Array(Type.Union([Type.String(), Reply]), {
      minItems: 1,
      description:
        'Replies in order; after the last one the script starts again. Each instance of the module starts from the top: with the scope `agent` the script continues from run to run.',
    }),
  }),
  create: (_, { replies }) => {
    let next = 0
    return {
      modelInfo: { name: 'mock', provider: 'agent-host' },
      generate(_request, run) {
        const reply = replies[next++ % replies.length] ?? ''
        return play(typeof reply === 'string' ? { text: reply } : reply, next, run)
      },
    }
  },
})

async function* play(reply: Reply, turn: number, run: Run): AsyncGenerator<LLMPart> {
  const { text = '', tool_calls = [], chunks, delay_ms = 0, error, usage, finish } = reply
  run.signal.throwIfAborted()
  yield* think(reply.reasoning)
  const pauses = delay_ms > 0 ? new Pauses(run.signal, delay_ms) : undefined
  try {
    for (const piece of cut(text, chunks)) {
      if (pauses) await pauses.next()
      run.signal.throwIfAborted()
      yield { type: 'text', text: piece }
    }
  } finally {
    pauses?.end()
  }
  if (reply.provider_metadata) yield { type: 'text', text: '', providerMetadata: reply.provider_metadata }
  if (error !== undefined) throw new Error(error)
  for (const [index, call] of tool_calls.entries()) {
    yield { type: 'tool_call', call: toCall(call, `call_${turn}_${index}`) }
  }
  if (usage)
    yield { type: 'usage', usage: toUsage(usage), ...(usage.model === undefined ? {} : { model: usage.model }) }
  yield { type: 'finish', reason: finish ?? (tool_calls.length > 0 ? 'tool_calls' : 'stop') }
}

/** Pauses that an abort cuts short. They share one listener: one for each pause leaves a kilobyte of garbage a piece. */
class Pauses {
  readonly #signal: AbortSignal
  readonly #ms: number
  #skip = () => {}
  readonly #abort = () => this.#skip()

  constructor(signal: AbortSignal, ms: number) {
    this.#signal = signal
    this.#ms = ms
    signal.addEventListener('abort', this.#abort)
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      // No event follows an abort that came between two pauses.
      const timer = setTimeout(resolve, this.#signal.aborted ? 0 : this.#ms)
      this.#skip = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  end(): void {
    this.#signal.removeEventListener('abort', this.#abort)
  }
}

function* think(reasoning: Reply['reasoning'] = []): Generator<LLMPart> {
  const blocks = typeof reasoning === 'string' ? [{ text: reasoning }] : reasoning
  for (const [index, { text, provider_metadata: providerMetadata }] of blocks.entries()) {
    yield { type: 'reasoning', text, blockId: String(index), ...(providerMetadata ? { providerMetadata } : {}) }
  }
}

function toCall({ id, name, arguments: args, provider_metadata }: Static<typeof Call>, ownId: string): ToolCall {
  const metadata = provider_metadata ? { providerMetadata: provider_metadata } : {}
  return { id: id ?? ownId, name, arguments: args, ...metadata }
}

function toUsage(usage: NonNullable<Reply['usage']>): Partial<Usage> {
  const { input_tokens, output_tokens, cached_input_tokens: cached, reasoning_tokens: reasoning } = usage
  return {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  }
}

function cut(text: string, chunks: number | undefined): string[] {
  if (chunks === undefined) return text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === '' ? [] : [text])
  // By code points: half a surrogate pair is no text.
  const characters = [...text]
  const size = Math.ceil(characters.length / chunks)
  return Array.from({ length: chunks }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  ).filter((piece) => piece !== '')
}
