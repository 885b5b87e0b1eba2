import { defineModule, LLM, Type } from 'agent-host'
import { makeLLM } from './lib/ai-sdk-llm.ts'
import { ChatEndpoint } from './lib/chat-endpoint.ts'
import { providerAt } from './lib/provider-name.ts'
import { httpSettings, limitsOf, modelName, optionalText, toProviderOptions } from './lib/vendor.ts'

export default defineModule({
  name: 'OpenAICompatibleLLM',
  description: 'Any model behind an OpenAI-style chat completions endpoint.',
  provides: [LLM],
  scope: 'agent',
  attachments: ['image/*', 'audio/*', 'application/pdf', 'text/plain'],
  reasons: true,
  config: Type.Object({
    base_url: Type.String({
      minLength: 1,
      description: 'Address of the API with its version: https://api.openai.com/v1',
    }),
    model: modelName('Name of the model in the API.'),
    api_key: optionalText('Sent as bearer credentials. Best taken from the environment: ${OPENAI_API_KEY}'),
    query: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: 'Additional query parameters of every request.',
    }),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, variant: true, description: 'Maximum tokens of an answer.' })),
    think_tags: Type.Boolean({
      default: true,
      description: 'Take `<think>...</think>` at the beginning of an answer for reasoning.',
    }),
    ...httpSettings,
  }),
  create: async (_, config, { log, moduleId }) => {
    // Loaded here: it takes a while, and most agents never need it.
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const { base_url, api_key, headers, query, model: name, temperature, max_tokens, max_retries, think_tags } = config
    const endpoint = new ChatEndpoint(base_url)
    const provider = createOpenAICompatible({
      name: 'openai-compatible',
      baseURL: base_url,
      headers,
      queryParams: query,
      fetch: endpoint.fetch,
      includeUsage: true,
      supportsStructuredOutputs: true,
      // An empty key, as from `${MY_KEY:-}`, counts as none.
      apiKey: api_key,
    })
    return makeLLM({
      model: provider.chatModel(name),
      provider: providerAt(base_url),
      subject: `the model '${name}' at ${base_url}`,
      secrets: [api_key ?? '', ...Object.values(headers), ...Object.values(query)],
      defaults: { temperature, maxOutputTokens: max_tokens },
      maxRetries: max_retries,
      limits: limitsOf(config),
      quirks: {
        endpoint,
        takesAddresses: true,
        hasThoughtTags: think_tags,
        // The SDK has no option for it, but takes any field.
        optionsOfPicture: (detail, address) => ({ openaiCompatible: { image_url: { url: address(), detail } } }),
      },
      hints: { 401: `The key is api_key in the config of module '${moduleId}'.` },
      optionsFor: ({ reasoningEffort, parallelToolCalls: parallel_tool_calls }) =>
        toProviderOptions('openaiCompatible', { reasoningEffort, parallel_tool_calls }),
      log,
    })
  },
})
