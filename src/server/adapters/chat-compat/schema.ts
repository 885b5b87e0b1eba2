import { type Static, Type } from 'typebox'
import type { DecodedUrl } from '../../../data-url.ts'
import { AnyObject, optional } from '../../../wire/schemas.ts'

/** Large data URLs are decoded while the body arrives. */
const Address = Type.Unsafe<string | DecodedUrl>(Type.String())

/** A part of any type; those that are not known are left to the conversion. */
const ContentPart = Type.Object({
  type: Type.String(),
  text: Type.Optional(Type.Unknown()),
  refusal: Type.Optional(Type.Unknown()),
  image_url: optional(Type.Union([Address, Type.Object({ url: Address, detail: Type.Optional(Type.Unknown()) })])),
  input_audio: optional(Type.Object({ data: Type.String(), format: Type.String() })),
  file: optional(
    Type.Object({
      file_data: optional(Address),
      file_id: optional(Type.String()),
      filename: optional(Type.String()),
    }),
  ),
})
export type ContentPart = Static<typeof ContentPart>

const CustomCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('custom'),
  custom: Type.Object({ name: Type.String(), input: Type.String() }),
})

/** A call without a type is one of a function. */
const ToolCall = Type.Union([
  CustomCall,
  Type.Object({
    id: Type.String(),
    /** `arguments` is JSON. */
    function: Type.Object({ name: Type.String(), arguments: Type.String() }),
  }),
])
export type ToolCall = Static<typeof ToolCall>

const ChatMessage = Type.Object({
  role: Type.Union([
    Type.Literal('system'),
    Type.Literal('developer'),
    Type.Literal('user'),
    Type.Literal('assistant'),
    Type.Literal('tool'),
  ]),
  content: optional(Type.Union([Type.String(), Type.Array(ContentPart)])),
  refusal: optional(Type.String()),
  /** Of an earlier answer. */
  reasoning_content: Type.Optional(Type.Unknown()),
  tool_calls: optional(Type.Array(ToolCall)),
  tool_call_id: optional(Type.String()),
})

const ToolName = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })

const Tool = Type.Union([
  Type.Object({
    type: Type.Literal('function'),
    function: Type.Object({
      name: ToolName,
      description: optional(Type.String()),
      /** JSON Schema. */
      parameters: optional(AnyObject),
      strict: optional(Type.Boolean()),
    }),
  }),
  /** Takes free text: any, or that of a grammar. */
  Type.Object({
    type: Type.Literal('custom'),
    custom: Type.Object({ name: ToolName, description: optional(Type.String()), format: optional(AnyObject) }),
  }),
])
export type Tool = Static<typeof Tool>

const Named = Type.Object({ name: Type.String() })
const NamedTool = [
  Type.Object({ type: Type.Literal('function'), function: Named }),
  Type.Object({ type: Type.Literal('custom'), custom: Named }),
] as const

/** The choices that have an effect. */
export const ToolChoice = Type.Union([
  Type.Literal('auto'),
  Type.Literal('none'),
  Type.Literal('required'),
  ...NamedTool,
  Type.Object({
    type: Type.Literal('allowed_tools'),
    allowed_tools: Type.Object({
      mode: Type.Union([Type.Literal('auto'), Type.Literal('required')]),
      tools: Type.Array(Type.Union([...NamedTool])),
    }),
  }),
])

const ResponseFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({ type: Type.Literal('json_schema'), json_schema: Type.Object({ schema: AnyObject }) }),
])

/** Body of `POST /compat/chat/completions`. What is not named here is ignored; so is a `tool_choice` that is none of {@link ToolChoice}. */
export const ChatRequest = Type.Object({
  model: Type.String(),
  messages: Type.Array(ChatMessage, { minItems: 1 }),
  stream: optional(Type.Boolean()),
  stream_options: optional(Type.Object({ include_usage: optional(Type.Boolean()) })),
  temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
  max_tokens: optional(Type.Integer()),
  top_p: optional(Type.Number()),
  stop: optional(Type.Union([Type.String(), Type.Array(Type.String())])),
  presence_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  frequency_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  user: optional(Type.String()),
  metadata: optional(AnyObject),
  max_completion_tokens: optional(Type.Integer({ minimum: 1 })),
  seed: optional(Type.Integer()),
  reasoning_effort: optional(Type.String()),
  response_format: optional(ResponseFormat),
  tools: optional(Type.Array(Tool)),
  tool_choice: optional(Type.Union([Type.String(), AnyObject])),
  parallel_tool_calls: optional(Type.Boolean()),
})
export type ChatRequest = Static<typeof ChatRequest>

/** Body of `POST /v1/chat/completions`. */
export const ExtendedChatRequest = Type.Object({ ...ChatRequest.properties, tool_choice: optional(ToolChoice) })

export type ChatMessage = Static<typeof ChatMessage>

/** Plain types where a union would do: the serializer checks each alternative of a union. */
const FinishReason = Type.Unsafe<'stop' | 'length' | 'content_filter' | 'tool_calls'>({
  type: 'string',
  enum: ['stop', 'length', 'content_filter', 'tool_calls'],
})
const NullableText = Type.Unsafe<string | null>({ type: ['string', 'null'] })

const FunctionCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})

const AnsweredCall = Type.Union([FunctionCall, CustomCall])
export type AnsweredCall = Static<typeof AnsweredCall>

export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        /** Null beside tool calls alone. */
        content: NullableText,
        reasoning_content: Type.Optional(Type.String()),
        tool_calls: Type.Optional(Type.Array(AnsweredCall)),
      }),
      finish_reason: FinishReason,
    }),
  ),
  usage: Type.Object({
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
    /** Only where a module counted them. */
    prompt_tokens_details: Type.Optional(Type.Object({ cached_tokens: Type.Integer() })),
    completion_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: Type.Integer() })),
  }),
})
export type ChatCompletion = Static<typeof ChatCompletion>

const StreamedCall = Type.Union([
  Type.Object({ index: Type.Integer(), ...FunctionCall.properties }),
  Type.Object({ index: Type.Integer(), ...CustomCall.properties }),
])

/** Data of one event of a streamed completion. */
export const ChatCompletionChunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion.chunk'),
  created: Type.Integer(),
  model: Type.String(),
  /** Empty in the chunk of the usage. */
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Type.Object({
        role: Type.Optional(Type.Literal('assistant')),
        content: Type.Optional(Type.String()),
        reasoning_content: Type.Optional(Type.String()),
        tool_calls: Type.Optional(Type.Array(StreamedCall)),
      }),
      finish_reason: Type.Union([FinishReason, Type.Null()]),
    }),
  ),
  usage: Type.Optional(ChatCompletion.properties.usage),
})

/** Last event but `[DONE]` of a stream that fails. */
export const StreamError = Type.Object({
  error: Type.Object({ message: Type.String(), type: Type.String(), code: Type.String() }),
})

export const ModelEntry = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
})
export type ModelEntry = Static<typeof ModelEntry>

/** Entry under `/v1`: the description and capabilities of an agent. */
export const DescribedModel = Type.Object({
  ...ModelEntry.properties,
  description: Type.String(),
  capabilities: Type.Object({
    tools: Type.Boolean(),
    reasoning: Type.Boolean(),
    images: Type.Boolean(),
    audio: Type.Boolean(),
    files: Type.Boolean(),
  }),
})
export type DescribedModel = Static<typeof DescribedModel>

export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelEntry) })
export const DescribedModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(DescribedModel) })
