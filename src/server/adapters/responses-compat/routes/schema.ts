import { type Static, Type } from 'typebox'
import { AnyObject, nullable, optional } from '../../../../wire/schemas.ts'
import { MAX_INPUT_ITEMS } from '../ids.ts'

const ContentPart = Type.Object({ type: Type.String() })

/** An item of the input as clients send it: a message, or anything else that names its type. */
const RawInputItem = Type.Object(
  {
    type: optional(Type.String()),
    role: optional(
      Type.Union([Type.Literal('user'), Type.Literal('assistant'), Type.Literal('system'), Type.Literal('developer')]),
    ),
    content: optional(Type.Union([Type.String(), Type.Array(ContentPart)])),
  },
  { minProperties: 1 },
)
export type RawInputItem = Static<typeof RawInputItem> & Readonly<Record<string, unknown>>

/** The choices that have an effect. */
export const ToolChoice = Type.Union([
  Type.Literal('auto'),
  Type.Literal('none'),
  Type.Literal('required'),
  Type.Object({ type: Type.Literal('function'), name: Type.String() }),
  Type.Object({ type: Type.Literal('custom'), name: Type.String() }),
  Type.Object({
    type: Type.Literal('allowed_tools'),
    mode: Type.Union([Type.Literal('auto'), Type.Literal('required')]),
    /** Those of hosted tools are ignored, as in `tools`. */
    tools: Type.Array(Type.Object({ type: Type.String(), name: Type.Optional(Type.String()) })),
  }),
])

const TextFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  /** JSON Schema. */
  Type.Object({ type: Type.Literal('json_schema'), name: optional(Type.String()), schema: AnyObject }),
])

/** Strategy for a conversation that grows too long. */
export const ContextManagement = Type.Array(
  Type.Object({
    type: Type.Literal('compaction'),
    /** Tokens above which the conversation is compacted. */
    compact_threshold: optional(Type.Integer({ minimum: 1 })),
  }),
)

/** Body of `POST /compat/responses`. What is not named here is ignored; so is a `tool_choice` that is none of {@link ToolChoice}. */
export const CreateRequest = Type.Object({
  input: Type.Union([
    Type.String({ minLength: 1 }),
    Type.Array(RawInputItem, { minItems: 1, maxItems: MAX_INPUT_ITEMS }),
  ]),
  model: Type.String({ minLength: 1 }),
  stream: optional(Type.Boolean()),
  instructions: optional(Type.String()),
  max_output_tokens: optional(Type.Integer({ minimum: 1 })),
  parallel_tool_calls: optional(Type.Boolean()),
  previous_response_id: optional(Type.String()),
  conversation: optional(Type.Union([Type.String(), Type.Object({ id: Type.String() })])),
  reasoning: optional(Type.Object({ effort: optional(Type.String()) })),
  store: optional(Type.Boolean()),
  temperature: optional(Type.Number()),
  text: optional(Type.Object({ format: optional(TextFormat), verbosity: Type.Optional(Type.Unknown()) })),
  tool_choice: optional(Type.Union([Type.String(), AnyObject])),
  tools: optional(Type.Array(Type.Object({ type: Type.String() }))),
  top_p: optional(Type.Number()),
  truncation: optional(Type.String()),
  user: optional(Type.String()),
  metadata: optional(AnyObject),
  background: optional(Type.Boolean()),
  include: optional(Type.Array(Type.String())),
  presence_penalty: optional(Type.Number()),
  frequency_penalty: optional(Type.Number()),
  top_logprobs: optional(Type.Integer()),
  max_tool_calls: optional(Type.Integer()),
  service_tier: optional(Type.String()),
  safety_identifier: optional(Type.String()),
  prompt_cache_key: optional(Type.String()),
})
export type CreateRequest = Static<typeof CreateRequest>

/** Body of `POST /v1/responses`. */
export const ExtendedCreateRequest = Type.Object({
  ...CreateRequest.properties,
  tool_choice: optional(ToolChoice),
  max_tool_calls: optional(Type.Integer({ minimum: 0 })),
  context_management: optional(ContextManagement),
})

const OutputText = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(Type.Unknown()),
})

/** `incomplete` marks an interrupted answer. */
const ItemStatus = Type.Union([Type.Literal('in_progress'), Type.Literal('completed'), Type.Literal('incomplete')])

export const OutputMessage = Type.Object({
  type: Type.Literal('message'),
  id: Type.String(),
  status: ItemStatus,
  role: Type.Literal('assistant'),
  content: Type.Array(OutputText),
  /** Of a whole message under `/v1`: `commentary` where something follows, or `final_answer`. */
  phase: Type.Optional(Type.Union([Type.Literal('commentary'), Type.Literal('final_answer')])),
})
export type OutputMessage = Static<typeof OutputMessage>

export const FunctionCall = Type.Object({
  type: Type.Literal('function_call'),
  id: Type.String(),
  call_id: Type.String(),
  name: Type.String(),
  namespace: Type.Optional(Type.String()),
  /** JSON. */
  arguments: Type.String(),
  status: ItemStatus,
})
export type FunctionCall = Static<typeof FunctionCall>

/** Call of a client's tool that takes free text. */
export const CustomToolCall = Type.Object({
  type: Type.Literal('custom_tool_call'),
  id: Type.String(),
  call_id: Type.String(),
  name: Type.String(),
  namespace: Type.Optional(Type.String()),
  input: Type.String(),
  status: ItemStatus,
})
export type CustomToolCall = Static<typeof CustomToolCall>

/** Call of one of the agent's own tools. */
export const McpCall = Type.Object({
  type: Type.Literal('mcp_call'),
  id: Type.String(),
  /** Module that provides the tool. */
  server_label: Type.String(),
  name: Type.String(),
  /** JSON. */
  arguments: Type.String(),
  output: nullable(Type.String()),
  error: nullable(Type.String()),
  status: Type.Union([ItemStatus, Type.Literal('failed')]),
  approval_request_id: Type.Null(),
})
export type McpCall = Static<typeof McpCall>

export const Reasoning = Type.Object({
  type: Type.Literal('reasoning'),
  id: Type.String(),
  summary: Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() })),
  /** Sealed data of the reasoning, for clients that ask for it. */
  encrypted_content: Type.Optional(Type.String()),
})
export type Reasoning = Static<typeof Reasoning>

/** Image that the agent answers with. */
const ImageCall = Type.Object({
  type: Type.Literal('image_generation_call'),
  id: Type.String(),
  status: Type.Union([Type.Literal('in_progress'), Type.Literal('completed')]),
  /** Base64. */
  result: nullable(Type.String()),
})
export type ImageCall = Static<typeof ImageCall>

export const ApprovalRequest = Type.Object({
  type: Type.Literal('mcp_approval_request'),
  id: Type.String(),
  server_label: Type.String(),
  name: Type.String(),
  /** JSON. */
  arguments: Type.String(),
})
export type ApprovalRequest = Static<typeof ApprovalRequest>

/** Stands for the conversation before it. */
export const CompactionItem = Type.Object({
  type: Type.Literal('compaction'),
  id: Type.String(),
  encrypted_content: Type.String(),
})
export type CompactionItem = Static<typeof CompactionItem>

export const OutputItem = Type.Union([
  OutputMessage,
  FunctionCall,
  CustomToolCall,
  McpCall,
  Reasoning,
  ImageCall,
  ApprovalRequest,
  CompactionItem,
])
export type OutputItem = Static<typeof OutputItem>

const Status = Type.Union([
  Type.Literal('in_progress'),
  Type.Literal('completed'),
  Type.Literal('failed'),
  Type.Literal('cancelled'),
])

export const TokenUsage = Type.Object({
  input_tokens: Type.Integer(),
  input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
  output_tokens: Type.Integer(),
  output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
  total_tokens: Type.Integer(),
})
export type TokenUsage = Static<typeof TokenUsage>

/** A response as stored, as answered, and as in the events that open and close a stream. */
export const ResponseRecord = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  /** Unix seconds, as all times here. */
  created_at: Type.Integer(),
  completed_at: nullable(Type.Integer()),
  status: Status,
  background: Type.Boolean(),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  incomplete_details: nullable(Type.Object({ reason: Type.String() })),
  instructions: nullable(Type.String()),
  max_output_tokens: nullable(Type.Integer()),
  max_tool_calls: nullable(Type.Integer()),
  model: Type.String(),
  output: Type.Array(OutputItem),
  parallel_tool_calls: Type.Boolean(),
  previous_response_id: nullable(Type.String()),
  /** Left out of a response that is in none. */
  conversation: Type.Optional(Type.Object({ id: Type.String() })),
  prompt_cache_key: nullable(Type.String()),
  reasoning: nullable(AnyObject),
  safety_identifier: nullable(Type.String()),
  service_tier: Type.String(),
  store: Type.Boolean(),
  temperature: Type.Number(),
  text: AnyObject,
  tool_choice: Type.Union([Type.String(), AnyObject]),
  tools: Type.Array(AnyObject),
  top_logprobs: Type.Integer(),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  truncation: Type.String(),
  usage: TokenUsage,
  user: nullable(Type.String()),
  metadata: AnyObject,
})
export type ResponseRecord = Static<typeof ResponseRecord>

/** Record in the dialect that has statuses of its own for an answer that was cut off, and for a response that has not begun. */
export type ExtendedRecord = Omit<ResponseRecord, 'status'> & {
  status: ResponseRecord['status'] | 'incomplete' | 'queued'
}

/** Body of `POST /responses/compact`. */
export const CompactRequest = Type.Object({
  model: Type.String({ minLength: 1 }),
  input: optional(Type.Union([Type.String({ minLength: 1 }), Type.Array(RawInputItem, { maxItems: MAX_INPUT_ITEMS })])),
  previous_response_id: optional(Type.String()),
  instructions: optional(Type.String()),
})
export type CompactRequest = Static<typeof CompactRequest>

/** Pairs that a client attaches to a conversation. They are counted first: to look at 150,000 of them takes seconds. */
const Metadata = Type.Intersect([
  Type.Object({}, { maxProperties: 16 }),
  Type.Record(Type.String(), Type.String({ maxLength: 512 }), { propertyNames: { maxLength: 64 } }),
])

/** Maximum number of items that one request adds to a conversation. */
const MAX_ADDED_ITEMS = 20

const AddedItems = Type.Array(RawInputItem, { maxItems: MAX_ADDED_ITEMS })

/** Body of `POST /conversations`. */
export const CreateConversation = Type.Object({ items: optional(AddedItems), metadata: optional(Metadata) })
export type CreateConversation = Static<typeof CreateConversation>

/** Body of `POST /conversations/{id}`. */
export const UpdateConversation = Type.Object({ metadata: nullable(Metadata) })

/** Body of `POST /conversations/{id}/items`. */
export const AddItems = Type.Object({ items: Type.Array(RawInputItem, { minItems: 1, maxItems: MAX_ADDED_ITEMS }) })

/** A message of the user, or the item that stands for everything. */
const CompactedItem = Type.Union([
  Type.Object({
    type: Type.Literal('message'),
    id: Type.String(),
    status: Type.Literal('completed'),
    role: Type.Literal('user'),
    content: Type.Array(ContentPart),
  }),
  CompactionItem,
])

/** Answer of `POST /responses/compact`. */
export const Compaction = Type.Object({
  id: Type.String(),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer(),
  output: Type.Array(CompactedItem),
  usage: TokenUsage,
})
export type Compaction = Static<typeof Compaction>

/** An item of the input as it is stored. Items of other types keep the fields that the client sent. */
export const InputItem = Type.Object({
  id: Type.String(),
  type: Type.String(),
  role: Type.Optional(Type.String()),
  content: Type.Optional(Type.Array(ContentPart)),
  created_at: Type.Integer(),
})
export type InputItem = Static<typeof InputItem>

/** A page of input items, or of responses. */
export interface Page<T> {
  readonly object: 'list'
  readonly data: readonly T[]
  readonly first_id: string | null
  readonly last_id: string | null
  readonly has_more: boolean
}
