import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'

// What the schema of Open Responses (https://www.openresponses.org, version 2026-04-24) requires of what is sent here.

const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])
const oneOf = (...values: string[]) => Type.Union(values.map((value) => Type.Literal(value)))
const Status = oneOf('in_progress', 'completed', 'incomplete')

const OutputText = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(Type.Unknown()),
})
const Message = Type.Object({
  type: Type.Literal('message'),
  id: Type.String(),
  status: Status,
  role: oneOf('user', 'assistant', 'system', 'developer'),
  phase: Type.Optional(oneOf('commentary', 'final_answer')),
  content: Type.Array(OutputText),
})
const FunctionCall = Type.Object({
  type: Type.Literal('function_call'),
  id: Type.String(),
  call_id: Type.String({ minLength: 1, maxLength: 64 }),
  name: Type.String(),
  arguments: Type.String(),
  status: Status,
})
const McpCall = Type.Object({
  type: Type.Literal('mcp_call'),
  id: Type.String(),
  server_label: Type.String(),
  name: Type.String(),
  arguments: Type.String(),
  output: orNull(Type.String()),
  error: orNull(Type.String()),
  status: Status,
})
const Compacted = Type.Object({ type: Type.Literal('compaction'), id: Type.String(), encrypted_content: Type.String() })
const UserMessage = Type.Object({
  type: Type.Literal('message'),
  id: Type.String(),
  status: Status,
  role: Type.Literal('user'),
  content: Type.Array(Type.Object({ type: Type.Literal('input_text'), text: Type.String() })),
})
const Item = Type.Union([Message, FunctionCall, McpCall])

const Tool = Type.Object({
  type: Type.Literal('function'),
  name: Type.String(),
  description: orNull(Type.String()),
  parameters: orNull(Type.Object({})),
  strict: orNull(Type.Boolean()),
})

const Reasoning = Type.Object({
  effort: orNull(oneOf('none', 'low', 'medium', 'high', 'xhigh')),
  summary: orNull(oneOf('concise', 'detailed', 'auto')),
})

export const ResponseResource = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  completed_at: orNull(Type.Integer()),
  status: Type.String(),
  incomplete_details: orNull(Type.Object({ reason: Type.String() })),
  model: Type.String(),
  previous_response_id: orNull(Type.String()),
  instructions: orNull(Type.String()),
  output: Type.Array(Item),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  tools: Type.Array(Tool),
  tool_choice: oneOf('none', 'auto', 'required'),
  truncation: oneOf('auto', 'disabled'),
  parallel_tool_calls: Type.Boolean(),
  text: Type.Object({ format: Type.Object({ type: oneOf('text', 'json_object') }) }),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  temperature: Type.Number(),
  reasoning: orNull(Reasoning),
  usage: orNull(
    Type.Object({
      input_tokens: Type.Integer(),
      output_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
      input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
      output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
    }),
  ),
  max_output_tokens: orNull(Type.Integer()),
  max_tool_calls: orNull(Type.Integer()),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.String(),
  metadata: Type.Unknown(),
  safety_identifier: orNull(Type.String()),
  prompt_cache_key: orNull(Type.String()),
})

const Usage = ResponseResource.properties.usage

/** Answer of `POST /responses/compact`. */
export const CompactResource = Type.Object({
  id: Type.String(),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer(),
  output: Type.Array(Type.Union([UserMessage, Compacted])),
  usage: Usage,
})

const event = (type: string, fields: Record<string, TSchema>) =>
  Type.Object({ type: Type.Literal(type), sequence_number: Type.Integer(), ...fields })
const ofRecord = (type: string) => event(type, { response: ResponseResource })
const ofOutput = (type: string, fields: Record<string, TSchema>) =>
  event(type, { output_index: Type.Integer(), ...fields })
const ofItem = (type: string, fields: Record<string, TSchema>) => ofOutput(type, { item_id: Type.String(), ...fields })
const ofPart = (type: string, fields: Record<string, TSchema>) =>
  ofItem(type, { content_index: Type.Integer(), ...fields })

export const EVENTS: Readonly<Record<string, TSchema>> = Object.fromEntries(
  [
    ofRecord('response.created'),
    ofRecord('response.in_progress'),
    ofRecord('response.completed'),
    ofRecord('response.failed'),
    ofOutput('response.output_item.added', { item: Item }),
    ofOutput('response.output_item.done', { item: Item }),
    ofPart('response.content_part.added', { part: OutputText }),
    ofPart('response.content_part.done', { part: OutputText }),
    ofPart('response.output_text.delta', { delta: Type.String() }),
    ofPart('response.output_text.done', { text: Type.String() }),
    ofItem('response.function_call_arguments.delta', { delta: Type.String() }),
    ofItem('response.function_call_arguments.done', { arguments: Type.String() }),
    ofItem('response.mcp_call.in_progress', {}),
    ofItem('response.mcp_call.completed', {}),
    ofItem('response.mcp_call_arguments.delta', { delta: Type.String() }),
    ofItem('response.mcp_call_arguments.done', { arguments: Type.String() }),
  ].map((schema) => [schema.properties.type.const, schema]),
)

/** Deviations of a value from a schema. */
export function problems(schema: TSchema | undefined, value: unknown): string[] {
  if (!schema) return ['There is no schema of it.']
  return [...Value.Errors(schema, value)].map(({ instancePath, message }) => `${instancePath} ${message}`)
}
