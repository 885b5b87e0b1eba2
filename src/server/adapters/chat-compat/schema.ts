import { type Static, Type } from 'typebox'
import { AnyObject, Flag, Integer, ofType, oneOf, optional, Text, UserName } from '../../../wire/schemas.ts'
import { ChatMessage, CustomCall } from '../../bodies/chat-message.ts'

const ToolName = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })

const Tool = Type.Union([
  ofType('function', {
    function: Type.Object({
      name: ToolName,
      description: optional(Text),
      /** JSON Schema. */
      parameters: optional(AnyObject),
      strict: optional(Flag),
    }),
  }),
  /** Takes free text: any, or that of a grammar. */
  ofType('custom', {
    custom: Type.Object({ name: ToolName, description: optional(Text), format: optional(AnyObject) }),
  }),
])
export type Tool = Static<typeof Tool>

const Named = Type.Object({ name: Text })
const NamedTool = [ofType('function', { function: Named }), ofType('custom', { custom: Named })] as const

/** The choices that have an effect. */
export const ToolChoice = Type.Union([
  Type.Literal('auto'),
  Type.Literal('none'),
  Type.Literal('required'),
  ...NamedTool,
  ofType('allowed_tools', {
    allowed_tools: Type.Object({
      mode: oneOf('auto', 'required'),
      tools: Type.Array(Type.Union([...NamedTool])),
    }),
  }),
])

const ResponseFormat = Type.Union([
  ofType('text', {}),
  ofType('json_object', {}),
  ofType('json_schema', { json_schema: Type.Object({ schema: AnyObject }) }),
])

/** Body of `POST /compat/chat/completions`. What is not named here is ignored; so is a `tool_choice` that is none of {@link ToolChoice}. */
export const ChatRequest = Type.Object({
  model: Text,
  messages: Type.Array(ChatMessage, { minItems: 1 }),
  stream: optional(Flag),
  stream_options: optional(Type.Object({ include_usage: optional(Flag) })),
  temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
  max_tokens: optional(Integer),
  top_p: optional(Type.Number()),
  stop: optional(Type.Union([Text, Type.Array(Text)])),
  presence_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  frequency_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  user: optional(UserName),
  metadata: optional(AnyObject),
  max_completion_tokens: optional(Type.Integer({ minimum: 1 })),
  seed: optional(Integer),
  reasoning_effort: optional(Text),
  response_format: optional(ResponseFormat),
  tools: optional(Type.Array(Tool)),
  tool_choice: optional(Type.Union([Text, AnyObject])),
  parallel_tool_calls: optional(Flag),
})
export type ChatRequest = Static<typeof ChatRequest>

/** Body of `POST /v1/chat/completions`. */
export const ExtendedChatRequest = Type.Object({ ...ChatRequest.properties, tool_choice: optional(ToolChoice) })

/** Plain types where a union would do: the serializer checks each alternative of a union. */
const FinishReason = Type.Unsafe<'stop' | 'length' | 'content_filter' | 'tool_calls'>({
  type: 'string',
  enum: ['stop', 'length', 'content_filter', 'tool_calls'],
})
const NullableText = Type.Unsafe<string | null>({ type: ['string', 'null'] })

const FunctionCall = Type.Object({
  id: Text,
  type: Type.Literal('function'),
  function: Type.Object({ name: Text, arguments: Text }),
})

const AnsweredCall = Type.Union([FunctionCall, CustomCall])
export type AnsweredCall = Static<typeof AnsweredCall>

export const ChatCompletion = Type.Object({
  id: Text,
  object: Type.Literal('chat.completion'),
  created: Integer,
  model: Text,
  choices: Type.Array(
    Type.Object({
      index: Integer,
      message: Type.Object({
        role: Type.Literal('assistant'),
        /** Null beside tool calls alone. */
        content: NullableText,
        reasoning_content: Type.Optional(Text),
        tool_calls: Type.Optional(Type.Array(AnsweredCall)),
      }),
      finish_reason: FinishReason,
    }),
  ),
  usage: Type.Object({
    prompt_tokens: Integer,
    completion_tokens: Integer,
    total_tokens: Integer,
    /** Only where a module counted them. */
    prompt_tokens_details: Type.Optional(Type.Object({ cached_tokens: Integer })),
    completion_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: Integer })),
  }),
})
export type ChatCompletion = Static<typeof ChatCompletion>

const StreamedCall = Type.Union([
  Type.Object({ index: Integer, ...FunctionCall.properties }),
  Type.Object({ index: Integer, ...CustomCall.properties }),
])

/** Data of one event of a streamed completion. */
export const ChatCompletionChunk = Type.Object({
  id: Text,
  object: Type.Literal('chat.completion.chunk'),
  created: Integer,
  model: Text,
  /** Empty in the chunk of the usage. */
  choices: Type.Array(
    Type.Object({
      index: Integer,
      delta: Type.Object({
        role: Type.Optional(Type.Literal('assistant')),
        content: Type.Optional(Text),
        reasoning_content: Type.Optional(Text),
        tool_calls: Type.Optional(Type.Array(StreamedCall)),
      }),
      finish_reason: Type.Union([FinishReason, Type.Null()]),
    }),
  ),
  usage: Type.Optional(ChatCompletion.properties.usage),
})

/** Last event but `[DONE]` of a stream that fails. */
export const StreamError = Type.Object({
  error: Type.Object({ message: Text, type: Text, code: Text }),
})

export const ModelEntry = Type.Object({
  id: Text,
  object: Type.Literal('model'),
  created: Integer,
  owned_by: Text,
})
export type ModelEntry = Static<typeof ModelEntry>

/** Entry under `/v1`: the description and capabilities of an agent. */
export const DescribedModel = Type.Object({
  ...ModelEntry.properties,
  description: Text,
  capabilities: Type.Object({
    tools: Flag,
    reasoning: Flag,
    images: Flag,
    audio: Flag,
    files: Flag,
  }),
})
export type DescribedModel = Static<typeof DescribedModel>

export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelEntry) })
export const DescribedModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(DescribedModel) })
