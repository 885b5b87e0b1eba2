import { type Static, Type } from 'typebox'
import { HostError } from '../../../../errors.ts'
import type { PendingAnswer } from '../../../../run/state/pending-call.ts'

/** Body of `POST /approvals/{id}`. */
export const DecisionRequest = Type.Object({
  decision: Type.Union([Type.Literal('approve'), Type.Literal('reject'), Type.Literal('edit'), Type.Literal('answer')]),
  /** Shown to the model when a call is rejected. */
  reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  /** Instead of the model's, with `edit`. */
  arguments: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
  /** To a question, with `answer`. */
  answer: Type.Optional(Type.Unknown()),
})
export type DecisionRequest = Static<typeof DecisionRequest>

type Answer = PendingAnswer extends infer Each ? (Each extends unknown ? Omit<Each, 'callId'> : never) : never

/**
 * Returns the answer that a decision is.
 *
 * @throws HostError `REQUEST_INVALID` for one that lacks a part
 */
export function toAnswer({ decision, reason, arguments: args, answer }: DecisionRequest): Answer {
  if (decision === 'answer') {
    if (answer === undefined) throw new HostError('REQUEST_INVALID', 'answer is required with the decision answer')
    return { kind: 'question', answers: [answer] }
  }
  if (decision === 'edit' && !args)
    throw new HostError('REQUEST_INVALID', 'arguments are required with the decision edit')
  return {
    kind: 'approval',
    decision,
    ...(reason ? { reason } : {}),
    ...(decision === 'edit' && args ? { arguments: args } : {}),
  }
}
