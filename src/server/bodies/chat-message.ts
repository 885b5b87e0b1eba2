import { type Static, Type } from 'typebox'
import type { DecodedUrl } from '../../data-url.ts'
import { oneOf, optional, Text } from '../../wire/schemas.ts'

/** Large data URLs are decoded while the body arrives. */
const Address = Type.Unsafe<string | DecodedUrl>(Text)

/** A part of any type; those that are not known are left to the conversion. */
const ContentPart = Type.Object({
  type: Text,
  text: Type.Optional(Type.Unknown()),
  refusal: Type.Optional(Type.Unknown()),
  image_url: optional(Type.Union([Address, Type.Object({ url: Address, detail: Type.Optional(Type.Unknown()) })])),
  input_audio: optional(Type.Object({ data: Text, format: Text })),
  file: optional(
    Type.Object({
      file_data: optional(Address),
      file_id: optional(Text),
      filename: optional(Text),
    }),
  ),
})
export type ContentPart = Static<typeof ContentPart>

export const CustomCall = Type.Object({
  id: Text,
  type: Type.Literal('custom'),
  custom: Type.Object({ name: Text, input: Text }),
})

/** A call without a type is one of a function. */
const ToolCall = Type.Union([
  CustomCall,
  Type.Object({
    id: Text,
    /** `arguments` is JSON. */
    function: Type.Object({ name: Text, arguments: Text }),
  }),
])
export type ToolCall = Static<typeof ToolCall>

/**
 * Message of a conversation in the form of chat completions.
 *
 * @example
 * ```ts
 * export function addLog(app: FastifyInstance, { http }: AdapterOptions): void {
 *   const schema = { body: Type.Object({ agent: Type.String(), log: Type.Array(ChatMessage) }) }
 *   app.post<{ Body: Static<typeof schema.body> }>('/log', { schema }, async ({ body: { agent, log } }, reply) => {
 *     const run = http.startTurn(reply, agent, { messages: http.readMessages(agent, log) })
 *     return { text: (await run.result).text }
 *   })
 * }
 * ```
 */
export const ChatMessage = Type.Object({
  role: oneOf('system', 'developer', 'user', 'assistant', 'tool'),
  content: optional(Type.Union([Text, Type.Array(ContentPart)])),
  refusal: optional(Text),
  /** Of an earlier answer. */
  reasoning_content: Type.Optional(Type.Unknown()),
  tool_calls: optional(Type.Array(ToolCall)),
  tool_call_id: optional(Text),
})
export type ChatMessage = Static<typeof ChatMessage>
