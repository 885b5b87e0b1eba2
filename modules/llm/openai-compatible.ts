import { defineModule, LLM, Type } from 'agent-host'
import { makeLLM } from './lib/ai-sdk-llm.ts'

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
    return makeLLM({
      model: provider.chatModel(name),
      subject: `The model '${name}' at ${base_url}`,
      secrets: [api_key ?? '', ...Object.values(headers), ...Object.values(query)],
      defaults: { temperature, maxOutputTokens: max_tokens },
      maxRetries: max_retries,
      timeout,
      habits: { takesAddresses: true },
    })
  },
})
