import { type Static, Type } from 'typebox'
import { oneOf, Text } from './schemas.ts'
import { VariantChange } from './variant.ts'

/** Body of `POST /api/ui/runs/{run_id}/rerun`. */
export const RerunRequest = Type.Object(
  {
    call_id: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'Call of the trace from which the rerun goes its own way: what comes before is taken from the tape.',
    }),
    changes: Type.Optional(
      Type.Array(VariantChange, { maxItems: 100, description: 'Values of the agent to change, as for a variant.' }),
    ),
    arguments: Type.Optional(
      Type.Record(Text, Type.Unknown(), {
        description: 'Of a tool that a model asked for: it asks for these instead. Needs `live` with `tools`.',
      }),
    ),
    result: Type.Optional(
      Type.Unknown({
        description:
          'Result of the call instead of the recorded one: of a model its text, of a tool a text or any value.',
      }),
    ),
    live: Type.Optional(
      Type.Array(oneOf('llm', 'tools'), {
        maxItems: 2,
        description: 'What is called for real from there on; default: `llm`. Everything else comes from the tape.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type RerunRequest = Static<typeof RerunRequest>

/** Answer to {@link RerunRequest}. */
export const Rerun = Type.Object({
  run_id: Type.String({ description: 'Of the rerun, which has begun.' }),
  from_call: Type.Integer({ description: 'Number of the call on the tape.' }),
})
export type Rerun = Static<typeof Rerun>
