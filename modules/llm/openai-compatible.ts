import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { defineModule, LLM, type LLMPart, Type } from 'agent-host'
import { fromStreamPart, toCallOptions } from './lib/ai-sdk-convert.ts'
import { openWithRetries, reasonOf } from './lib/ai-sdk-retry.ts'
import { Silence } from './lib/silence.ts'

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
    query: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: 'Parameters that are added to the address of every request.',
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
    const { base_url, api_key, headers, query, model: name, temperature, max_tokens, max_retries, timeout } = config
    const provider = createOpenAICompatible({
      name: 'openai-compatible',
      baseURL: base_url,
      headers,
      queryParams: query,
      includeUsage: true,
      supportsStructuredOutputs: true,
      // Empty, as `${MY_KEY:-}` may be, it is none.
      ...(api_key ? { apiKey: api_key } : {}),
    })
    const model: LanguageModelV3 = provider.chatModel(name)
    const subject = `The model '${name}' at ${base_url}`
    const fail = makeFail([api_key ?? '', ...Object.values(headers), ...Object.values(query)])
    return {
      async *generate(request, run) {
        const silence = new Silence(timeout, run.signal)
        const options = {
          temperature,
          maxOutputTokens: max_tokens,
          ...toCallOptions(request),
          abortSignal: silence.signal,
        }
        const open = () => silence.limit(model.doStream(options))
        try {
          yield* convert(await openWithRetries(open, max_retries, silence.signal), silence)
        } catch (error) {
          run.signal.throwIfAborted()
          throw fail(
            silence.isTooLong ? `${subject} said nothing for ${timeout} seconds.` : `${subject} ${reasonOf(error)}`,
            error,
          )
        } finally {
          silence.end()
        }
      },
    }
  },
})

async function* convert(stream: ReadableStream<LanguageModelV3StreamPart>, silence: Silence): AsyncGenerator<LLMPart> {
  silence.begin()
  for await (const part of stream) {
    // The time that the reader of the answer takes is not the model's.
    silence.end()
    yield* fromStreamPart(part)
    silence.begin()
  }
}

/** Errors without what is secret, in the address too: some servers repeat the key that they refuse. */
function makeFail(rawSecrets: readonly string[]): (message: string, cause: unknown) => Error {
  const secrets = rawSecrets.filter((secret) => secret.length >= 8)
  return (message, cause) =>
    new Error(
      secrets.reduce(
        (text, secret) => text.replaceAll(secret, '[redacted]'),
        message.replace(/:\/\/[^/@\s]+@/g, '://'),
      ),
      { cause },
    )
}
