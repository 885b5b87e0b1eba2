import { type Static, Type } from 'typebox'
import {
  AnyObject,
  Flag,
  Integer,
  nullable,
  ofType,
  oneOf,
  optional,
  Text,
  UserName,
} from '../../../../wire/schemas.ts'
import { MAX_INPUT_ITEMS } from '../ids.ts'

const ContentPart = Type.Object({ type: Text })

/** An item of the input as clients send it: a message, or anything else that names its type. */
const RawInputItem = Type.Object(
  {
    type: optional(Text),
    role: optional(oneOf('user', 'assistant', 'system', 'developer')),
    content: optional(Type.Union([Text, Type.Array(ContentPart)])),
  },
  { minProperties: 1 },
)
export type RawInputItem = Static<typeof RawInputItem> & Readonly<Record<string, unknown>>

/** The choices that have an effect. */
export const ToolChoice = Type.Union([
  Type.Literal('auto'),
  Type.Literal('none'),
  Type.Literal('required'),
  ofType('function', { name: Text }),
  ofType('custom', { name: Text }),
  ofType('allowed_tools', {
    mode: oneOf('auto', 'required'),
    /** Those of hosted tools are ignored, as in `tools`. */
    tools: Type.Array(Type.Object({ type: Text, name: Type.Optional(Text) })),
  }),
])

const TextFormat = Type.Union([
  ofType('text', {}),
  ofType('json_object', {}),
  /** JSON Schema. */
  ofType('json_schema', { name: optional(Text), schema: AnyObject }),
])

/** Strategy for a conversation that grows too long. */
export const ContextManagement = Type.Array(
  ofType('compaction', {
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
  stream: optional(Flag),
  instructions: optional(Text),
  max_output_tokens: optional(Type.Integer({ minimum: 1 })),
  parallel_tool_calls: optional(Flag),
  previous_response_id: optional(Text),
  conversation: optional(Type.Union([Text, Type.Object({ id: Text })])),
  reasoning: optional(Type.Object({ effort: optional(Text) })),
  store: optional(Flag),
  temperature: optional(Type.Number()),
  text: optional(Type.Object({ format: optional(TextFormat), verbosity: Type.Optional(Type.Unknown()) })),
  tool_choice: optional(Type.Union([Text, AnyObject])),
  tools: optional(Type.Array(Type.Object({ type: Text }))),
  top_p: optional(Type.Number()),
  truncation: optional(Text),
  user: optional(UserName),
  metadata: optional(AnyObject),
  background: optional(Flag),
  include: optional(Type.Array(Text)),
  presence_penalty: optional(Type.Number()),
  frequency_penalty: optional(Type.Number()),
  top_logprobs: optional(Integer),
  max_tool_calls: optional(Integer),
  service_tier: optional(Text),
  safety_identifier: optional(Text),
  prompt_cache_key: optional(Text),
})
export type CreateRequest = Static<typeof CreateRequest>

/** Body of `POST /v1/responses`. */
export const ExtendedCreateRequest = Type.Object({
  ...CreateRequest.properties,
  tool_choice: optional(ToolChoice),
  max_tool_calls: optional(Type.Integer({ minimum: 0 })),
  context_management: optional(ContextManagement),
})

const OutputText = ofType('output_text', { text: Text, annotations: Type.Array(Type.Unknown()) })

/** `incomplete` marks an interrupted answer. */
const ItemStatus = oneOf('in_progress', 'completed', 'incomplete')

export const OutputMessage = ofType('message', {
  id: Text,
  status: ItemStatus,
  role: Type.Literal('assistant'),
  content: Type.Array(OutputText),
  /** Of a whole message under `/v1`: `commentary` where something follows, or `final_answer`. */
  phase: Type.Optional(oneOf('commentary', 'final_answer')),
})
export type OutputMessage = Static<typeof OutputMessage>

export const FunctionCall = ofType('function_call', {
  id: Text,
  call_id: Text,
  name: Text,
  namespace: Type.Optional(Text),
  /** JSON. */
  arguments: Text,
  status: ItemStatus,
})
export type FunctionCall = Static<typeof FunctionCall>

/** Call of a client's tool that takes free text. */
export const CustomToolCall = ofType('custom_tool_call', {
  id: Text,
  call_id: Text,
  name: Text,
  namespace: Type.Optional(Text),
  input: Text,
  status: ItemStatus,
})
export type CustomToolCall = Static<typeof CustomToolCall>

/** Call of one of the agent's own tools. */
export const McpCall = ofType('mcp_call', {
  id: Text,
  /** Module that provides the tool. */
  server_label: Text,
  name: Text,
  /** JSON. */
  arguments: Text,
  output: nullable(Text),
  error: nullable(Text),
  status: Type.Union([ItemStatus, Type.Literal('failed')]),
  approval_request_id: Type.Null(),
})
export type McpCall = Static<typeof McpCall>

export const Reasoning = ofType('reasoning', {
  id: Text,
  summary: Type.Array(ofType('summary_text', { text: Text })),
  /** Sealed data of the reasoning, for clients that ask for it. */
  encrypted_content: Type.Optional(Text),
})
export type Reasoning = Static<typeof Reasoning>

/** Image that the agent answers with. */
const ImageCall = ofType('image_generation_call', {
  id: Text,
  status: oneOf('in_progress', 'completed'),
  /** Base64. */
  result: nullable(Text),
})
export type ImageCall = Static<typeof ImageCall>

export const ApprovalRequest = ofType('mcp_approval_request', {
  id: Text,
  server_label: Text,
  name: Text,
  /** JSON. */
  arguments: Text,
})
export type ApprovalRequest = Static<typeof ApprovalRequest>

/** Stands for the conversation before it. */
export const CompactionItem = ofType('compaction', { id: Text, encrypted_content: Text })
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

const Status = oneOf('in_progress', 'completed', 'failed', 'cancelled')

export const TokenUsage = Type.Object({
  input_tokens: Integer,
  input_tokens_details: Type.Object({ cached_tokens: Integer }),
  output_tokens: Integer,
  output_tokens_details: Type.Object({ reasoning_tokens: Integer }),
  total_tokens: Integer,
})
export type TokenUsage = Static<typeof TokenUsage>

/** A response as stored, as answered, and as in the events that open and close a stream. */
export const ResponseRecord = Type.Object({
  id: Text,
  object: Type.Literal('response'),
  /** Unix seconds, as all times here. */
  created_at: Integer,
  completed_at: nullable(Integer),
  status: Status,
  background: Flag,
  error: nullable(Type.Object({ code: Text, message: Text })),
  incomplete_details: nullable(Type.Object({ reason: Text })),
  instructions: nullable(Text),
  max_output_tokens: nullable(Integer),
  max_tool_calls: nullable(Integer),
  model: Text,
  output: Type.Array(OutputItem),
  parallel_tool_calls: Flag,
  previous_response_id: nullable(Text),
  /** Left out of a response that is in none. */
  conversation: Type.Optional(Type.Object({ id: Text })),
  prompt_cache_key: nullable(Text),
  reasoning: nullable(AnyObject),
  safety_identifier: nullable(Text),
  service_tier: Text,
  store: Flag,
  temperature: Type.Number(),
  text: AnyObject,
  tool_choice: Type.Union([Text, AnyObject]),
  tools: Type.Array(AnyObject),
  top_logprobs: Integer,
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  truncation: Text,
  usage: TokenUsage,
  user: nullable(Text),
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
  previous_response_id: optional(Text),
  instructions: optional(Text),
})
export type CompactRequest = Static<typeof CompactRequest>

/** Pairs that a client attaches to a conversation. They are counted first: to look at 150,000 of them takes seconds. */
const Metadata = Type.Intersect([
  Type.Object({}, { maxProperties: 16 }),
  Type.Record(Text, Type.String({ maxLength: 512 }), { propertyNames: { maxLength: 64 } }),
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
  ofType('message', {
    id: Text,
    status: Type.Literal('completed'),
    role: Type.Literal('user'),
    content: Type.Array(ContentPart),
  }),
  CompactionItem,
])

/** Answer of `POST /responses/compact`. */
export const Compaction = Type.Object({
  id: Text,
  object: Type.Literal('response.compaction'),
  created_at: Integer,
  output: Type.Array(CompactedItem),
  usage: TokenUsage,
})
export type Compaction = Static<typeof Compaction>

/** An item of the input as it is stored. Items of other types keep the fields that the client sent. */
export const InputItem = Type.Object({
  id: Text,
  type: Text,
  role: Type.Optional(Text),
  content: Type.Optional(Type.Array(ContentPart)),
  created_at: Integer,
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
