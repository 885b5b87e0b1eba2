/** Model providers that `llm/auto` finds in the environment, for the `.env` of a new project. */
export const PROVIDERS: readonly { name: string; title: string; variable: string; example: string }[] = [
  { name: 'openai', title: 'OpenAI', variable: 'OPENAI_API_KEY', example: 'sk-...' },
  { name: 'anthropic', title: 'Anthropic', variable: 'ANTHROPIC_API_KEY', example: 'sk-ant-...' },
  { name: 'google', title: 'Google Gemini', variable: 'GEMINI_API_KEY', example: '...' },
  { name: 'mistral', title: 'Mistral', variable: 'MISTRAL_API_KEY', example: '...' },
  { name: 'groq', title: 'Groq', variable: 'GROQ_API_KEY', example: 'gsk_...' },
  { name: 'openrouter', title: 'OpenRouter', variable: 'OPENROUTER_API_KEY', example: 'sk-or-...' },
  { name: 'ollama', title: 'Ollama on this machine', variable: 'OLLAMA_BASE_URL', example: 'http://127.0.0.1:11434' },
]
