import type { RunFacts } from '../../../../durable/runs/run-facts.ts'
import type { ModelOptions } from '../../../../protocols/model-options.ts'
import { NO_USAGE } from '../../../../protocols/usage.ts'
import { toTokenUsage } from '../output/token-usage.ts'
import type { CreateRequest, ResponseRecord } from '../routes/schema.ts'

/** Name of the adapter in the runs that it starts. */
export const RESPONSES = 'responses'

/** Fields of a request that its record shows, beside those that every run has. */
export type AskedFields = Partial<Omit<CreateRequest, 'model' | 'input'>>

/** Part of a record that stands before the answer: the summary of a conversation that was too long. */
export type OwnFields = Partial<Pick<ResponseRecord, 'output' | 'usage'>>

/** Fields that are kept as options or links of the run, or that matter to nobody afterwards. */
const KEPT_ELSEWHERE: ReadonlySet<string> = new Set<keyof CreateRequest>([
  'model',
  'input',
  'stream',
  'include',
  'instructions',
  'user',
  'metadata',
  'background',
  'max_tool_calls',
  'previous_response_id',
  'conversation',
])

/** Returns what a run keeps of a request beside its options: what its record shows, and those of the runs that go on from it. */
export function toAsked(body: CreateRequest): AskedFields {
  const asked: Record<string, unknown> = {}
  for (const name in body) {
    if (!KEPT_ELSEWHERE.has(name)) asked[name] = body[name as keyof CreateRequest]
  }
  return asked
}

/** The record of a run at its beginning, with every field and default, whichever adapter started it. */
export function toRecord(id: string, facts: RunFacts): ResponseRecord {
  const { adapter, agent, createdAt, previousId, conversation, options, data, own, isUnasked } = facts
  const asked = adapter === RESPONSES ? (data as AskedFields) : toAskedFields(options.requestOptions ?? {})
  const { output = [], usage = NO_TOKENS } = (own ?? {}) as OwnFields
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    status: 'in_progress',
    background: options.background ?? false,
    error: null,
    incomplete_details: null,
    instructions: options.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: options.maxToolCalls ?? null,
    model: agent,
    output,
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    // A request names a response or a conversation.
    previous_response_id: conversation === undefined || isUnasked ? previousId : null,
    conversation: conversation === undefined ? undefined : { id: conversation },
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: asked.reasoning ? { effort: null, summary: null, ...asked.reasoning } : null,
    safety_identifier: asked.safety_identifier ?? null,
    service_tier: asked.service_tier ?? 'default',
    store: asked.store ?? true,
    temperature: asked.temperature ?? 1,
    text: asked.text ? { ...asked.text, format: asked.text.format ?? { type: 'text' } } : { format: { type: 'text' } },
    // The step before has done what it asked for.
    tool_choice: isUnasked ? 'auto' : (asked.tool_choice ?? 'auto'),
    tools: (asked.tools ?? []).map(toTool),
    top_logprobs: asked.top_logprobs ?? 0,
    top_p: asked.top_p ?? 1,
    presence_penalty: asked.presence_penalty ?? 0,
    frequency_penalty: asked.frequency_penalty ?? 0,
    truncation: asked.truncation ?? 'disabled',
    usage,
    user: options.user ?? null,
    metadata: options.metadata ?? {},
  }
}

const NO_TOKENS = toTokenUsage(NO_USAGE)

/** Readers of the Open Responses schema want every field of a function. */
function toTool(tool: Record<string, unknown>): Record<string, unknown> {
  return tool.type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool
}

/** Options for a model as fields of a request. `stop` and `seed` have none in this API. */
function toAskedFields(options: ModelOptions): AskedFields {
  const { temperature, topP, maxOutputTokens, presencePenalty, frequencyPenalty, reasoningEffort, responseSchema } =
    options
  return {
    temperature,
    top_p: topP,
    max_output_tokens: maxOutputTokens,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
    ...(responseSchema
      ? { text: { format: { type: 'json_schema' as const, name: 'answer', schema: responseSchema } } }
      : {}),
  }
}
