/** Names of providers in OpenTelemetry, by the beginning of the name that the AI SDK gives them. */
const OF_SDK: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gcp.gemini',
  'amazon-bedrock': 'aws.bedrock',
}

/** The same for endpoints in the style of OpenAI, by host. */
const OF_HOST: Readonly<Record<string, string>> = {
  'api.openai.com': 'openai',
  'api.anthropic.com': 'anthropic',
  'generativelanguage.googleapis.com': 'gcp.gemini',
  'api.mistral.ai': 'mistral_ai',
  'api.groq.com': 'groq',
  'api.deepseek.com': 'deepseek',
  'api.x.ai': 'x_ai',
  'api.perplexity.ai': 'perplexity',
  'openrouter.ai': 'openrouter',
}

/** Name of the provider of a model, as telemetry knows it: `gcp.gemini` for `google.generative-ai`. */
export function providerName(sdkName: string): string {
  const [name = sdkName] = sdkName.split('.')
  return OF_SDK[name] ?? name
}

/** Name of the provider behind an endpoint in the style of OpenAI. */
export function providerAt(address: string): string {
  const host = URL.canParse(address) ? new URL(address).hostname : ''
  return OF_HOST[host] ?? 'openai-compatible'
}
