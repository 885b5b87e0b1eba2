import type { ModelOptions } from '../../../../protocols/model-options.ts'
import { beginRecord } from '../input/convert.ts'
import type { CreateRequest, ResponseRecord } from '../routes/schema.ts'

const REPEATED = [
  'instructions',
  'max_output_tokens',
  'parallel_tool_calls',
  'reasoning',
  'temperature',
  'text',
  'tools',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'user',
  'metadata',
] as const

/**
 * Request that continues a waiting response, with the options of the first one. What has its default counts as not sent: some models
 * refuse even that. `tool_choice` is left out: it would demand the call again.
 */
export function repeatRequest(waiting: ResponseRecord): CreateRequest {
  const { id, model } = waiting
  const defaults = beginRecord({ model, input: [] }, id, waiting.created_at)
  const sent = REPEATED.filter((name) => JSON.stringify(waiting[name]) !== JSON.stringify(defaults[name]))
  const options = Object.fromEntries(sent.map((name) => [name, waiting[name]]))
  return { ...options, model, input: [], previous_response_id: id, background: true }
}

/** Options for a model as fields of a request. `stop` and `seed` have none in this API. */
export function toOptionFields(options: ModelOptions): Partial<CreateRequest> {
  const { temperature, topP, maxOutputTokens, presencePenalty, frequencyPenalty, reasoningEffort, responseSchema } =
    options
  return {
    temperature,
    top_p: topP,
    max_output_tokens: maxOutputTokens,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
    ...(responseSchema ? { text: { format: { type: 'json_schema', name: 'answer', schema: responseSchema } } } : {}),
  }
}
