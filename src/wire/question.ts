import { type Static, Type } from 'typebox'
import { oneOf, Text } from './schemas.ts'
import { VariantChange, VariantRequest } from './variant.ts'

const run_id = Type.String({ minLength: 1, maxLength: 200 })
const name = Type.Optional(Type.String({ minLength: 1, maxLength: 100 }))

/** Body of `POST /api/ui/questions`: the file to write, or the evals to run, once a person at the terminal of `agent-host dev` agrees. */
export const QuestionRequest = Type.Union([
  Type.Object({ action: Type.Literal('save_test'), run_id, name }),
  Type.Object({
    action: Type.Literal('save_case'),
    run_id,
    name,
    file: Type.String({ maxLength: 300, description: 'File of cases, relative to the project.' }),
  }),
  Type.Object({
    action: Type.Literal('change_agent'),
    agent_id: VariantRequest.properties.agent_id,
    changes: Type.Array(VariantChange, { minItems: 1, maxItems: 100 }),
  }),
  Type.Object({ action: Type.Literal('run_evals') }),
])
export type QuestionRequest = Static<typeof QuestionRequest>

/** State of a question. */
export const QuestionNews = Type.Object({
  id: Text,
  state: oneOf('open', 'changed', 'written', 'started', 'ended', 'refused', 'expired', 'failed'),
  detail: Type.String({ description: 'The same as a sentence.' }),
})
export type QuestionNews = Static<typeof QuestionNews>
