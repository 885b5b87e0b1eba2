import { defineModule, LLM, Type } from 'agent-host'
import { ollamaAddress } from './lib/ollama-address.ts'
import offline from './offline.ts'
import openaiCompatible from './openai-compatible.ts'

interface Provider {
  readonly name: string
  /** The first of these that is set decides. */
  readonly keys: readonly string[]
  /** Variables that hold another address. */
  readonly addresses?: readonly string[]
  readonly baseUrl: string
  /** Makes an address of the environment one of the OpenAI-style endpoint. */
  readonly toBaseUrl?: (address: string) => string
  readonly model: string
}

/** All through their OpenAI-style endpoints. The first whose key or address is in the environment is taken. */
const PROVIDERS: readonly Provider[] = [
  {
    name: 'OpenAI',
    keys: ['OPENAI_API_KEY'],
    addresses: ['OPENAI_BASE_URL'],
    baseUrl: 'https://api.openai.com/v1',
    model: 'gpt-4.1-mini',
  },
  {
    name: 'Anthropic',
    keys: ['ANTHROPIC_API_KEY'],
    baseUrl: 'https://api.anthropic.com/v1',
    model: 'claude-haiku-4-5',
  },
  {
    name: 'Google',
    keys: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    model: 'gemini-2.5-flash',
  },
  { name: 'Mistral', keys: ['MISTRAL_API_KEY'], baseUrl: 'https://api.mistral.ai/v1', model: 'mistral-small-latest' },
  { name: 'Groq', keys: ['GROQ_API_KEY'], baseUrl: 'https://api.groq.com/openai/v1', model: 'llama-3.3-70b-versatile' },
  {
    name: 'OpenRouter',
    keys: ['OPENROUTER_API_KEY'],
    baseUrl: 'https://openrouter.ai/api/v1',
    model: 'openai/gpt-4.1-mini',
  },
  { name: 'DeepSeek', keys: ['DEEPSEEK_API_KEY'], baseUrl: 'https://api.deepseek.com/v1', model: 'deepseek-chat' },
  { name: 'xAI', keys: ['XAI_API_KEY'], baseUrl: 'https://api.x.ai/v1', model: 'grok-3-mini' },
  {
    name: 'Ollama',
    keys: [],
    addresses: ['OLLAMA_BASE_URL', 'OLLAMA_HOST'],
    baseUrl: '',
    model: 'llama3.2',
    toBaseUrl: ollamaAddress,
  },
]

export default defineModule({
  name: 'AutoLLM',
  description: 'The model provider whose key or address is in the environment; otherwise the offline model.',
  provides: [LLM],
  scope: 'agent',
  config: Type.Object({
    model: Type.Optional(
      Type.String({ description: "Model to ask for. Default: AGENT_HOST_MODEL, then the provider's small one." }),
    ),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2, description: 'Randomness of the answers.' })),
  }),
  create: async (_, config, context) => {
    const { environment, log } = context
    // An empty variable is none.
    const firstOf = (names: readonly string[] = []) => names.map((name) => environment[name]).find((value) => value)
    const provider = PROVIDERS.find(({ keys, addresses }) => firstOf(keys) ?? firstOf(addresses))
    if (!provider) {
      log.info('no provider key is in the environment: the offline model answers')
      return offline.create({}, { introduce: true }, context)
    }
    const { toBaseUrl = (address) => address } = provider
    const base_url = toBaseUrl(firstOf(provider.addresses) ?? provider.baseUrl)
    const api_key = firstOf(provider.keys)
    const model = config.model ?? (environment.AGENT_HOST_MODEL || provider.model)
    log.info(`${provider.name} answers, model ${model}`)
    const { temperature } = config
    const settings = { base_url, model, temperature, ...(api_key === undefined ? {} : { api_key }) }
    return openaiCompatible.create({}, { max_retries: 2, timeout: 60, headers: {}, query: {}, ...settings }, context)
  },
})
