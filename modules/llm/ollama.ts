import { defineModule, LLM, Type } from 'agent-host'
import { ChatEndpoint } from './lib/chat-endpoint.ts'
import { LONGEST_TIMER } from './lib/idle-timeout.ts'
import { effortOf, firstOf, makeVendorLLM, modelName, optionalText, vendorSettings } from './lib/vendor.ts'

const EFFORTS = ['none', 'low', 'medium', 'high']

export default defineModule({
  name: 'OllamaLLM',
  description: 'Models in Ollama, on this machine or another.',
  provides: [LLM],
  scope: 'agent',
  attachments: ['image/*'],
  reasons: true,
  config: Type.Object({
    model: modelName('Name of the model, as `ollama list` shows it, such as llama3.2.'),
    base_url: optionalText(
      'Address of the server. Default: OLLAMA_BASE_URL or OLLAMA_HOST, then http://127.0.0.1:11434',
    ),
    api_key: optionalText('For servers that require one. Default: OLLAMA_API_KEY.'),
    reasoning_effort: effortOf(EFFORTS),
    ...vendorSettings,
    // A model may have to be read from the disk first.
    timeout: Type.Number({
      minimum: 1,
      maximum: LONGEST_TIMER,
      default: 300,
      description: 'Seconds without a byte after which a call fails; loading the model counts.',
    }),
  }),
  create: async (_, config, context) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const { model, headers } = config
    const { OLLAMA_BASE_URL, OLLAMA_HOST, OLLAMA_API_KEY } = context.environment
    const baseURL = ollamaAddress(firstOf(config.base_url, OLLAMA_BASE_URL, OLLAMA_HOST) ?? 'http://127.0.0.1:11434')
    const apiKey = firstOf(config.api_key, OLLAMA_API_KEY)
    const endpoint = new ChatEndpoint(baseURL)
    const ollama = createOpenAICompatible({
      name: 'ollama',
      baseURL,
      headers,
      fetch: endpoint.fetch,
      includeUsage: true,
      supportsStructuredOutputs: true,
      apiKey,
    })
    return makeVendorLLM(
      {
        name: 'ollama',
        model: ollama.chatModel(model),
        address: baseURL,
        secrets: [apiKey ?? ''],
        access: { names: 'OLLAMA_API_KEY', isThere: true },
        optionsFor: ({ reasoningEffort }) => ({ reasoningEffort }),
        quirks: { endpoint, hasThoughtTags: true, efforts: EFFORTS },
        hints: { 404: `Fetch it: ollama pull ${model}` },
      },
      config,
      context,
    )
  },
})

/**
 * The address of Ollama's OpenAI-style endpoint. `OLLAMA_HOST` is written for its server: it may lack scheme and port,
 * and name the address to listen on.
 */
function ollamaAddress(address: string): string {
  const hasScheme = /^https?:\/\//.test(address)
  const full = hasScheme ? address : `http://${address.startsWith(':') ? `127.0.0.1${address}` : address}`
  if (!URL.canParse(full)) throw new Error(`The Ollama address '${address}' in the environment is not a URL.`)
  const url = new URL(full)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  if (!hasScheme && url.port === '') url.port = '11434'
  return `${url.origin}${url.pathname.replace(/\/(v1\/?)?$/, '')}/v1`
}
