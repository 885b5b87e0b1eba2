import { type Static, Type } from 'typebox'
import type { GivenAnswer } from '../../run/waiting/pending-call.ts'

const Arguments = Type.Record(Type.String(), Type.Unknown())

/** Fields that every decision may have, whether they are of use to it or not. */
const fields = {
  /** Shown to the model when a call is rejected. */
  reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  arguments: Type.Optional(Type.Union([Arguments, Type.Null()])),
  answer: Type.Optional(Type.Unknown()),
}

/** Body of `POST /approvals/{id}`. */
export const DecisionRequest = Type.Union([
  Type.Object({ decision: Type.Literal('approve'), ...fields }),
  Type.Object({ decision: Type.Literal('reject'), ...fields }),
  /** Arguments instead of the model's. */
  Type.Object({ decision: Type.Literal('edit'), ...fields, arguments: Arguments }),
  /** Answer to a question. */
  Type.Object({ decision: Type.Literal('answer'), ...fields, answer: Type.Unknown() }),
])
export type DecisionRequest = Static<typeof DecisionRequest>

export function toGivenAnswer(request: DecisionRequest): GivenAnswer {
  const { decision, reason, arguments: edited } = request
  if (decision === 'answer') return { kind: 'question', answers: [request.answer] }
  return {
    kind: 'approval',
    decision,
    ...(reason ? { reason } : {}),
    // Beside another decision they are refused, as from anywhere.
    ...(edited ? { arguments: edited } : {}),
  }
}
