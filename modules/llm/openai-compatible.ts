import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { defineModule, LLM, type LLMPart, messageOf, type Run, Type } from 'agent-host'
import { fromStreamPart, toCallOptions } from './lib/ai-sdk-convert.ts'
import { openWithRetries } from './lib/ai-sdk-retry.ts'

export default defineModule({
  name: 'OpenAICompatibleLLM',
  description: 'Any model behind an OpenAI-style chat completions endpoint.',
  provides: [LLM],
  scope: 'agent',
  config: Type.Object({
    base_url: Type.String({
      minLength: 1,
      description: 'Address of the API, up to and with its version: https://api.openai.com/v1',
    }),
    model: Type.String({ minLength: 1, description: 'Name of the model, as the API knows it.' }),
    api_key: Type.Optional(
      Type.String({ description: 'Sent as bearer credentials. Best taken from the environment: ${OPENAI_API_KEY}' }),
    ),
    headers: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: 'Further headers of every request.',
    }),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2, description: 'Randomness of the answers.' })),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'Longest answer, in tokens.' })),
    max_retries: Type.Integer({
      minimum: 0,
      maximum: 10,
      default: 2,
      description:
        'How often a request that failed for a passing reason (408, 409, 429, 5xx, no connection) is repeated.',
    }),
    timeout: Type.Number({
      minimum: 1,
      default: 60,
      description: 'Seconds without a word from the model after which it is given up.',
    }),
  }),
  create: async (_, config) => {
    // Loaded here: it takes a while, and most agents never need it.
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const { base_url, api_key, headers, model: name, temperature, max_tokens, max_retries, timeout } = config
    const provider = createOpenAICompatible({
      name: 'openai-compatible',
      baseURL: base_url,
      headers,
      includeUsage: true,
      supportsStructuredOutputs: true,
      ...(api_key === undefined ? {} : { apiKey: api_key }),
    })
    const model: LanguageModelV3 = provider.chatModel(name)
    const subject = `The model '${name}' at ${base_url}`
    return {
      async *generate(request, run) {
        const silence = new Silence(timeout, run)
        const options = {
          temperature,
          maxOutputTokens: max_tokens,
          ...toCallOptions(request),
          abortSignal: silence.signal,
        }
        try {
          const stream = await openWithRetries(() => model.doStream(options), max_retries, subject, silence.signal)
          yield* convert(stream, silence)
        } catch (error) {
          run.signal.throwIfAborted()
          throw silence.explain(error, subject)
        } finally {
          silence.end()
        }
      },
    }
  },
})

async function* convert(stream: ReadableStream<LanguageModelV3StreamPart>, silence: Silence): AsyncGenerator<LLMPart> {
  for await (const part of stream) {
    silence.wasBroken()
    yield* fromStreamPart(part)
  }
}

/** Ends a request when nothing came for too long, or when the run ends. */
class Silence {
  readonly #seconds: number
  readonly #controller = new AbortController()
  readonly signal: AbortSignal
  readonly #timer: NodeJS.Timeout

  constructor(seconds: number, run: Run) {
    this.#seconds = seconds
    this.signal = AbortSignal.any([this.#controller.signal, run.signal])
    this.#timer = setTimeout(() => this.#controller.abort(), seconds * 1000)
  }

  wasBroken(): void {
    this.#timer.refresh()
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  explain(error: unknown, subject: string): unknown {
    if (this.#controller.signal.aborted) {
      return new Error(`${subject} said nothing for ${this.#seconds} seconds.`, { cause: error })
    }
    if (messageOf(error).startsWith(subject)) return error
    return new Error(`${subject} broke off: ${messageOf(error)}`, { cause: error })
  }
}
