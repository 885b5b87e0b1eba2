import { type Static, type TSchema, Type } from 'typebox'

/** Clients send `null` for what they leave out. */
const optional = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

const ContentPart = Type.Object({ type: Type.String(), text: Type.Optional(Type.Unknown()) })

const ChatMessage = Type.Object({
  role: Type.Union([
    Type.Literal('system'),
    Type.Literal('developer'),
    Type.Literal('user'),
    Type.Literal('assistant'),
    Type.Literal('tool'),
  ]),
  content: optional(Type.Union([Type.String(), Type.Array(ContentPart)])),
  tool_calls: Type.Optional(Type.Unknown()),
  tool_call_id: Type.Optional(Type.Unknown()),
})

/** Body of `POST /compat/chat/completions`. What is not named here is ignored. */
export const ChatRequest = Type.Object({
  model: Type.String(),
  messages: Type.Array(ChatMessage),
  stream: optional(Type.Boolean()),
  stream_options: optional(Type.Object({ include_usage: optional(Type.Boolean()) })),
  temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
  max_tokens: optional(Type.Integer()),
  top_p: optional(Type.Number()),
  stop: optional(Type.Union([Type.String(), Type.Array(Type.String())])),
  presence_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  frequency_penalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  user: optional(Type.String()),
  metadata: optional(Type.Record(Type.String(), Type.Unknown())),
})
export type ChatRequest = Static<typeof ChatRequest>
export type ChatMessage = Static<typeof ChatMessage>

export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({ role: Type.Literal('assistant'), content: Type.String() }),
      finish_reason: Type.Union([Type.Literal('stop'), Type.Literal('length'), Type.Literal('content_filter')]),
    }),
  ),
  usage: Type.Object({
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
  }),
})
export type ChatCompletion = Static<typeof ChatCompletion>

export const ModelEntry = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
})
export type ModelEntry = Static<typeof ModelEntry>

/** Entry under `/v1`: what the agent is for, and what it takes beside text. */
const DescribedModel = Type.Object({
  ...ModelEntry.properties,
  description: Type.String(),
  capabilities: Type.Object({
    tools: Type.Boolean(),
    images: Type.Boolean(),
    audio: Type.Boolean(),
    files: Type.Boolean(),
  }),
})
export type DescribedModel = Static<typeof DescribedModel>

export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelEntry) })
export const DescribedModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(DescribedModel) })
