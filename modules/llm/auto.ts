import { defineModule, LLM, Type } from 'agent-host'
import offline from './offline.ts'
import openaiCompatible from './openai-compatible.ts'

interface Provider {
  readonly name: string
  /** The first of these that is set decides. */
  readonly keys: readonly string[]
  /** A variable that holds another address. */
  readonly urlVariable?: string
  readonly baseUrl: string
  readonly model: string
}

/** All through their OpenAI-style endpoints. The first whose key or address is in the environment is taken. */
const PROVIDERS: readonly Provider[] = [
  {
    name: 'OpenAI',
    keys: ['OPENAI_API_KEY'],
    urlVariable: 'OPENAI_BASE_URL',
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
  { name: 'Ollama', keys: [], urlVariable: 'OLLAMA_BASE_URL', baseUrl: '', model: 'llama3.2' },
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
    const provider = PROVIDERS.find(({ keys, urlVariable }) =>
      [...keys, urlVariable ?? ''].some((name) => environment[name]),
    )
    if (!provider) {
      log.info('no provider key is in the environment: the offline model answers')
      return offline.create({}, { introduce: true }, context)
    }
    const address = environment[provider.urlVariable ?? ''] || provider.baseUrl
    const api_key = provider.keys.map((name) => environment[name]).find((key) => key)
    const model = config.model ?? (environment.AGENT_HOST_MODEL || provider.model)
    log.info(`${provider.name} answers, model ${model}`)
    const base_url = provider.name === 'Ollama' ? `${address.replace(/\/(v1\/?)?$/, '')}/v1` : address
    const { temperature } = config
    const settings = { base_url, model, temperature, ...(api_key === undefined ? {} : { api_key }) }
    return openaiCompatible.create({}, { max_retries: 2, timeout: 60, headers: {}, ...settings }, context)
  },
})
