import { type Static, Type } from 'agent-host'

/** A block of any type; `read-blocks` reads those that there are. */
const Block = Type.Object({ type: Type.String() })
export type Block = Static<typeof Block> & Readonly<Record<string, unknown>>

const Content = Type.Union([Type.String(), Type.Array(Block)])
export type Content = string | readonly Block[]

const Message = Type.Object({
  role: Type.Union([Type.Literal('user'), Type.Literal('assistant'), Type.Literal('system')]),
  content: Content,
})
export type WireMessage = { readonly role: Static<typeof Message>['role']; readonly content: Content }

const Tool = Type.Object({
  /** Left out, and `custom`: a tool that the client runs. */
  type: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  input_schema: Type.Optional(Type.Object({})),
  strict: Type.Optional(Type.Boolean()),
})
export type WireTool = Static<typeof Tool>

const Choice = { disable_parallel_tool_use: Type.Optional(Type.Boolean()) }
const ToolChoice = Type.Union([
  Type.Object({ type: Type.Literal('auto'), ...Choice }),
  Type.Object({ type: Type.Literal('any'), ...Choice }),
  Type.Object({ type: Type.Literal('none') }),
  Type.Object({ type: Type.Literal('tool'), name: Type.String(), ...Choice }),
])
export type ToolChoice = Static<typeof ToolChoice>

const COUNTED = {
  model: Type.String(),
  messages: Type.Array(Message, { minItems: 1 }),
  system: Type.Optional(Content),
  tools: Type.Optional(Type.Array(Tool)),
  tool_choice: Type.Optional(ToolChoice),
  thinking: Type.Optional(
    Type.Object({ type: Type.String(), budget_tokens: Type.Optional(Type.Integer({ minimum: 1 })) }),
  ),
  output_config: Type.Optional(
    Type.Object({
      effort: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      format: Type.Optional(
        Type.Union([Type.Object({ type: Type.Literal('json_schema'), schema: Type.Object({}) }), Type.Null()]),
      ),
    }),
  ),
}

/** Body of `POST /v1/messages/count_tokens`. */
export const CountRequest = Type.Object(COUNTED)

/** Body of `POST /v1/messages`. Fields that are not named here: `ignored`. */
export const MessageRequest = Type.Object({
  ...COUNTED,
  max_tokens: Type.Integer({ minimum: 1 }),
  stream: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  stop_sequences: Type.Optional(Type.Array(Type.String())),
  // The data of a user with a longer name could not be deleted.
  metadata: Type.Optional(
    Type.Object({ user_id: Type.Optional(Type.Union([Type.String({ maxLength: 300 }), Type.Null()])) }),
  ),
})
export type MessageRequest = Omit<Static<typeof MessageRequest>, 'messages' | 'system'> & {
  readonly messages: readonly WireMessage[]
  readonly system?: Content
}

/** Block of an answer. */
export type AnswerBlock =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'thinking'; thinking: string; signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_use'
      readonly id: string
      readonly name: string
      readonly input: Readonly<Record<string, unknown>>
    }

export const Answer = Type.Object({
  id: Type.String(),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String(),
  content: Type.Array(Type.Unsafe<AnswerBlock>({ type: 'object', additionalProperties: true })),
  stop_reason: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  stop_sequence: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  usage: Type.Object({
    input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    cache_creation_input_tokens: Type.Integer(),
    cache_read_input_tokens: Type.Integer(),
  }),
})
export type Answer = Static<typeof Answer>

export const Model = Type.Object({
  type: Type.Literal('model'),
  id: Type.String(),
  display_name: Type.String(),
  created_at: Type.String(),
})
export type Model = Static<typeof Model>

export const ModelPage = Type.Object({
  data: Type.Array(Model),
  has_more: Type.Boolean(),
  first_id: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  last_id: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
})

export const TokenCount = Type.Object({ input_tokens: Type.Integer() })

export const WireError = Type.Object({
  type: Type.Literal('error'),
  error: Type.Object({ type: Type.String(), message: Type.String() }),
  request_id: Type.Optional(Type.String()),
})

/** One event of a streamed answer. */
export const StreamEvent = Type.Object({ type: Type.String() }, { additionalProperties: true })
