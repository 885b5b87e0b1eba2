interface Vendor {
  /** Name for people, of one that new projects offer. */
  readonly title?: string
  /** Value of the first variable, for the `.env` of a new project. */
  readonly example?: string
  /** Variables that name a key or an address; the first that is set counts. */
  readonly variables: readonly [string, ...string[]]
  /** Default address. */
  readonly url: string
}

/** Vendors of models in the order in which `llm/auto` looks for them in the environment. */
export const VENDORS: Readonly<Record<string, Vendor>> = {
  openai: { title: 'OpenAI', example: 'sk-...', variables: ['OPENAI_API_KEY'], url: 'https://api.openai.com' },
  anthropic: {
    title: 'Anthropic',
    example: 'sk-ant-...',
    variables: ['ANTHROPIC_API_KEY'],
    url: 'https://api.anthropic.com',
  },
  google: {
    title: 'Google Gemini',
    example: '...',
    variables: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    url: 'https://generativelanguage.googleapis.com',
  },
  mistral: { title: 'Mistral', example: '...', variables: ['MISTRAL_API_KEY'], url: 'https://api.mistral.ai' },
  groq: { title: 'Groq', example: 'gsk_...', variables: ['GROQ_API_KEY'], url: 'https://api.groq.com' },
  openrouter: {
    title: 'OpenRouter',
    example: 'sk-or-...',
    variables: ['OPENROUTER_API_KEY'],
    url: 'https://openrouter.ai',
  },
  deepseek: { variables: ['DEEPSEEK_API_KEY'], url: 'https://api.deepseek.com' },
  xai: { variables: ['XAI_API_KEY'], url: 'https://api.x.ai' },
  ollama: {
    title: 'Ollama on this machine',
    variables: ['OLLAMA_BASE_URL', 'OLLAMA_HOST'],
    url: 'http://127.0.0.1:11434',
  },
}

/** Those that new projects offer, for the prompts of `init` and the `.env`. */
export const PROVIDERS = Object.entries(VENDORS).flatMap(([name, { title, variables, url, example = url }]) =>
  title === undefined ? [] : [{ name, title, variable: variables[0], example }],
)
