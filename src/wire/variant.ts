import { type Static, Type } from 'typebox'
import { Integer, Text } from './schemas.ts'

/** Value by which a variant differs from its agent. */
export const VariantChange = Type.Object(
  {
    agent: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Id of an agent that the agent calls, whose value it is. Left out: the agent itself.',
      }),
    ),
    module: Type.String({ minLength: 1, maxLength: 200, description: 'Id of the module.' }),
    path: Type.Array(Type.Union([Type.String({ maxLength: 200 }), Type.Integer({ minimum: 0, maximum: 10_000 })]), {
      minItems: 1,
      maxItems: 20,
      description: "Keys and indexes from the module's config to the value.",
    }),
    value: Type.Optional(Type.Unknown({ description: 'Left out, the value is removed: its default holds again.' })),
  },
  { additionalProperties: false },
)
/** Value by which a variant differs from its agent. Without `value` it is removed: its default holds again. */
export type VariantChange = Static<typeof VariantChange>

/** Change as the trace of a run has it: with the value of the agent as it is, where the run knows it and there is one. */
export type TracedChange = VariantChange & { readonly before?: unknown }

/** Body of `POST /api/ui/variants`. */
export const VariantRequest = Type.Object(
  {
    agent_id: Type.String({ minLength: 1, maxLength: 200 }),
    version: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'Version of the agent that was changed; 409 if another is in service.',
      }),
    ),
    changes: Type.Optional(Type.Array(VariantChange, { maxItems: 100 })),
    definition: Type.Optional(
      Type.String({
        description: 'The whole changed text, instead of `changes`. Under `agent-host dev` on loopback alone.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type VariantRequest = Static<typeof VariantRequest>

/** Answer to {@link VariantRequest}. */
export const Variant = Type.Object({
  id: Type.String({ description: 'For the header `x-agent-variant`.' }),
  agent_id: Text,
  version: Text,
  changes: Type.Array(VariantChange),
  definition: Type.Union([Text, Type.Null()], {
    description: 'Text of the agent file with the changes, without its secrets; null for an agent without a file.',
  }),
})
export type Variant = Static<typeof Variant>

/** Reason why a change is refused. */
export const VariantProblem = Type.Object({
  agent: Type.Optional(Text),
  module: Type.Optional(Text),
  path: Type.Optional(VariantChange.properties.path),
  line: Type.Optional(Integer),
  column: Type.Optional(Integer),
  message: Text,
  suggestions: Type.Array(Text),
})
export type VariantProblem = Static<typeof VariantProblem>

/** Body of a refusal. */
export const VariantRefusal = Type.Object({
  detail: Text,
  problems: Type.Optional(Type.Array(VariantProblem)),
})
export type VariantRefusal = Static<typeof VariantRefusal>
