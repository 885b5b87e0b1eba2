import { type Static, Type } from 'agent-host'

const Source = Type.Object({ type: Type.String(), value: Type.String(), mimeType: Type.Optional(Type.String()) })
const Part = Type.Object({
  type: Type.String(),
  text: Type.Optional(Type.String()),
  source: Type.Optional(Source),
})
const ClientMessage = Type.Object({
  id: Type.String(),
  role: Type.String(),
  // An activity has an object; none of them goes to an agent.
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Part), Type.Object({}), Type.Null()])),
  toolCalls: Type.Optional(Type.Array(Type.Object({ id: Type.String() }))),
  toolCallId: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
})
const ClientTool = Type.Object({
  name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(Type.Object({})),
})
const Resume = Type.Object({
  interruptId: Type.String(),
  status: Type.Union([Type.Literal('resolved'), Type.Literal('cancelled')]),
  payload: Type.Optional(Type.Unknown()),
})

/** `RunAgentInput` of AG-UI 1.0, as far as it is read: further members have no effect. */
export const RunAgentInput = Type.Object({
  threadId: Type.String({ minLength: 1, maxLength: 256 }),
  runId: Type.String({ minLength: 1, maxLength: 256 }),
  messages: Type.Array(ClientMessage),
  tools: Type.Optional(Type.Array(ClientTool)),
  context: Type.Optional(Type.Array(Type.Object({ description: Type.String(), value: Type.String() }))),
  state: Type.Optional(Type.Unknown()),
  forwardedProps: Type.Optional(Type.Unknown()),
  resume: Type.Optional(Type.Array(Resume)),
})
export type RunAgentInput = Static<typeof RunAgentInput>

export type ClientMessage = Static<typeof ClientMessage>
export type Part = Static<typeof Part>
export type Resume = Static<typeof Resume>

/** The events of an answer. */
export const RunEvents = Type.Object({ type: Type.String() }, { description: 'An event of AG-UI 1.0.' })
/** Body of an answer to a request that is refused. */
export const Refused = Type.Object({
  type: Type.Literal('RUN_ERROR'),
  message: Type.String(),
  code: Type.Optional(Type.String()),
})
