import type { ModelOptions } from '../../../protocols/model-options.ts'
import type { ChatRequest } from './schema.ts'

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Options of the API that are the same in the protocol of models. */
const SAME: ReadonlyMap<string, keyof ModelOptions> = new Map([
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['max_tokens', 'maxOutputTokens'],
  ['max_completion_tokens', 'maxOutputTokens'],
  ['seed', 'seed'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['reasoning_effort', 'reasoningEffort'],
  ['parallel_tool_calls', 'parallelToolCalls'],
] as const satisfies readonly (readonly [keyof ChatRequest, keyof ModelOptions])[])

/** The options that the client sent, and nothing else; undefined when there are none. `null` counts as absent. */
export function toRequestOptions(body: ChatRequest, toolChoice?: ModelOptions['toolChoice']): ModelOptions | undefined {
  const options: Writable<ModelOptions> = {}
  for (const field in body) {
    const option = SAME.get(field)
    if (option === undefined) continue
    const value = body[field as keyof ChatRequest] ?? undefined
    if (value !== undefined) Object.assign(options, { [option]: value })
  }
  // Of the two names for one option the newer one wins.
  if (typeof body.max_completion_tokens === 'number') options.maxOutputTokens = body.max_completion_tokens
  // Any integer is accepted as `max_tokens`; one that leaves no room for an answer has no effect.
  if (options.maxOutputTokens !== undefined && options.maxOutputTokens < 1) delete options.maxOutputTokens
  const { stop, response_format: format } = body
  if (stop != null) options.stop = typeof stop === 'string' ? [stop] : stop
  if (toolChoice !== undefined) options.toolChoice = toolChoice
  if (format?.type === 'json_object') options.responseSchema = { type: 'object' }
  else if (format?.type === 'json_schema') options.responseSchema = format.json_schema.schema
  for (const _ in options) return options
  return undefined
}
