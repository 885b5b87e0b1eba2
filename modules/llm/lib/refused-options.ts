import { fieldsOf, type LLMRequest } from 'agent-host'

/** Optional request options, by the names that vendors use when they reject one. */
const WORDS: Readonly<Partial<Record<keyof LLMRequest, RegExp>>> = {
  temperature: /\btemperature\b/i,
  topP: /\btop_?p\b/i,
  maxOutputTokens: /\bmax_?(output|completion)?_?tokens\b/i,
  stop: /\bstop(_?sequences?)?\b/i,
  seed: /\bseed\b/i,
  presencePenalty: /\bpresence_?penalty\b/i,
  frequencyPenalty: /\bfrequency_?penalty\b/i,
  reasoningEffort: /\beffort\b|reasoning_?effort|thinking_?(level|config|budget)/i,
  verbosity: /\bverbosity\b/i,
  serviceTier: /service_?tier/i,
  promptCacheKey: /prompt_?cache/i,
  safetyIdentifier: /safety_?identifier/i,
  parallelToolCalls: /parallel_?tool/i,
  responseSchema: /response[ _]?(format|mime|schema)|json_?(schema|object)|output_(format|config)|text\.format/i,
}

/** Options of a request that a refusal (status 400 or 422) names, of those that may be left out. */
export function refusedOptions(error: unknown, dispensable: Partial<LLMRequest>): (keyof LLMRequest)[] {
  const { statusCode, message = '', responseBody = '' } = fieldsOf(error)
  if (statusCode !== 400 && statusCode !== 422) return []
  const said = `${message}\n${String(responseBody).slice(0, 2000)}`
  const names = Object.keys(dispensable) as (keyof LLMRequest)[]
  return names.filter((name) => dispensable[name] !== undefined && WORDS[name]?.test(said))
}
