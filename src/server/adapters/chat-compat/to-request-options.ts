import type { ModelOptions } from '../../../protocols/model-options.ts'
import type { ChatRequest } from './schema.ts'

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Options of the API that are the same in the protocol of models; the later of two names for one option wins. */
const SAME = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['max_tokens', 'maxOutputTokens'],
  ['max_completion_tokens', 'maxOutputTokens'],
  ['seed', 'seed'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['reasoning_effort', 'reasoningEffort'],
  ['parallel_tool_calls', 'parallelToolCalls'],
] as const satisfies readonly (readonly [keyof ChatRequest, keyof ModelOptions])[]

/** The options that the client sent, and nothing else; undefined when there are none. `null` counts as absent. */
export function toRequestOptions(body: ChatRequest): ModelOptions | undefined {
  const options: Writable<ModelOptions> = {}
  for (const [field, option] of SAME) {
    const value = body[field] ?? undefined
    if (value !== undefined) Object.assign(options, { [option]: value })
  }
  const { stop, tool_choice: choice, response_format: format } = body
  if (stop !== undefined && stop !== null) options.stop = typeof stop === 'string' ? [stop] : stop
  if (choice === 'required') options.toolChoice = choice
  else if (typeof choice === 'object' && choice) options.toolChoice = { tool: choice.function.name }
  if (format?.type === 'json_object') options.responseSchema = { type: 'object' }
  else if (format?.type === 'json_schema') options.responseSchema = format.json_schema.schema
  for (const _ in options) return options
  return undefined
}
