import { defineModule, LLM, type ModuleContext, Type } from 'agent-host'
import anthropic from './anthropic.ts'
import google from './google.ts'
import { hasPackage } from './lib/optional-package.ts'
import { firstOf, httpSettings } from './lib/vendor.ts'
import offline from './offline.ts'
import ollama from './ollama.ts'
import openai from './openai.ts'
import openaiCompatible from './openai-compatible.ts'

interface Provider {
  readonly name: string
  /** Variables that hold the key; the first that is set counts. */
  readonly keys: readonly string[]
  /** Variables that hold another address. */
  readonly addresses?: readonly string[]
  readonly baseUrl: string
  readonly model: string
  /** The vendor's own API, and the package that it takes, where that is not always there. */
  readonly own?: {
    readonly package?: string
    /** Variable of its address, which is for its own API alone. */
    readonly address?: string
    create(settings: OwnSettings, context: ModuleContext): LLM | Promise<LLM>
  }
}

/** Fields in the config of every vendor's module. */
interface OwnSettings {
  readonly model: string
  readonly api_key?: string
  readonly temperature: number | undefined
  readonly headers: Record<string, string>
  readonly options: Record<string, unknown>
  readonly max_retries: number
  readonly timeout: number
}

const DEFAULTS = { headers: {}, max_retries: 2, timeout: 60 }

/**
 * Providers in order of preference: the first with a key or address in the environment answers, through its own API where the library has
 * a module for it, otherwise through its OpenAI-style endpoint.
 */
const PROVIDERS: readonly Provider[] = [
  {
    name: 'OpenAI',
    keys: ['OPENAI_API_KEY'],
    addresses: ['OPENAI_BASE_URL'],
    baseUrl: 'https://api.openai.com/v1',
    model: 'gpt-4.1-mini',
    own: {
      create: (settings, context) => openai.create({}, { ...settings, api: 'responses', store: false }, context),
    },
  },
  {
    name: 'Anthropic',
    keys: ['ANTHROPIC_API_KEY'],
    baseUrl: 'https://api.anthropic.com/v1',
    model: 'claude-haiku-4-5',
    own: {
      package: '@ai-sdk/anthropic',
      address: 'ANTHROPIC_BASE_URL',
      create: (settings, context) => anthropic.create({}, settings, context),
    },
  },
  {
    name: 'Google',
    keys: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    model: 'gemini-2.5-flash',
    own: {
      package: '@ai-sdk/google',
      create: (settings, context) => google.create({}, settings, context),
    },
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
    own: {
      create: (settings, context) => ollama.create({}, { ...settings, timeout: 300 }, context),
    },
  },
]

/** Environments in which the hint about the offline model was logged: agents are created again with every edit. */
const hinted = new WeakSet<object>()

export default defineModule({
  name: 'AutoLLM',
  description: 'Uses the provider whose key or address is in the environment, otherwise the offline model.',
  provides: [LLM],
  scope: 'agent',
  attachments: ['image/*', 'application/pdf'],
  reasons: true,
  config: Type.Object({
    model: Type.Optional(
      Type.String({
        variant: true,
        description: "Model to use. Default: AGENT_HOST_MODEL, then the vendor's small one.",
      }),
    ),
    temperature: httpSettings.temperature,
  }),
  create: async (_, config, context) => {
    const { environment, log } = context
    const valueOf = (names: readonly string[] = []) => firstOf(...names.map((name) => environment[name]))
    const provider = PROVIDERS.find(({ keys, addresses }) => valueOf(keys) ?? valueOf(addresses))
    if (!provider) {
      if (!hinted.has(environment)) log.info('found no key of a vendor, so the offline model answers')
      hinted.add(environment)
      return offline.create({}, { introduce: true }, context)
    }
    const model = config.model ?? firstOf(environment.AGENT_HOST_MODEL) ?? provider.model
    log.info(`using ${provider.name}, model ${model}`)
    const api_key = valueOf(provider.keys)
    const settings = {
      ...DEFAULTS,
      model,
      temperature: config.temperature,
      ...(api_key === undefined ? {} : { api_key }),
    }
    const address = valueOf(provider.addresses)
    const own = ownApi(provider, address, context)
    if (own) return own.create({ ...settings, options: {} }, context)
    const base_url = address ?? provider.baseUrl
    return openaiCompatible.create({}, { ...settings, base_url, query: {}, think_tags: true }, context)
  },
})

/** Any other address than the vendor's is taken for an OpenAI-style endpoint; Ollama has no address of a vendor. */
function ownApi({ name, own, keys }: Provider, address: string | undefined, context: ModuleContext) {
  if (!own || (keys.length > 0 && address !== undefined)) return undefined
  if (own.package === undefined || hasPackage(own.package, context.projectDir)) return own
  if (own.address !== undefined && firstOf(context.environment[own.address]) !== undefined) {
    throw new Error(`${own.address} is the address of ${name}'s own API. In the project: npm install ${own.package}`)
  }
  context.log.info(`using the OpenAI-style endpoint of ${name}; for its own API: npm install ${own.package}`)
  return undefined
}
