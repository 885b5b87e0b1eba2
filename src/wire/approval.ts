import { type Static, Type } from 'typebox'
import { AnyObject, Integer, nullable, Text } from './schemas.ts'

/** State of an approval or a question. All but `pending` are final. */
export const ApprovalStatus = Type.Enum(
  ['pending', 'approved', 'edited', 'rejected', 'answered', 'expired', 'cancelled', 'superseded'],
  { type: 'string' },
)
export type ApprovalStatus = Static<typeof ApprovalStatus>

/** Approval or question as `GET /approvals` gives it: to clients, to the inbox of the debug UI, and to the command line. */
export const Approval = Type.Object({
  id: Text,
  object: Type.Literal('approval'),
  kind: Type.Enum(['approval', 'question'], { type: 'string' }),
  response_id: Type.String({ description: 'The response that waits.' }),
  agent: Type.String({ description: 'Agent that makes the call: the one of the request, or one that it called.' }),
  asked_by: Type.Array(Text, {
    description: 'Agents that called it, the nearest first; none for that of the request.',
  }),
  run_id: Type.String({ description: 'Run of that agent, as traces name it.' }),
  name: Type.String({ description: 'Name of the tool.' }),
  arguments: AnyObject,
  message: nullable(Type.String({ description: 'The question.' })),
  url: nullable(Type.String({ description: 'Page of another site that answers the question, such as a sign-in.' })),
  /** JSON Schema of edited arguments, or of the answer. */
  schema: nullable(AnyObject),
  /** Unix seconds, as all times. */
  created_at: Integer,
  expires_at: nullable(Integer),
  status: ApprovalStatus,
  decided_by: nullable(Text),
  decided_at: nullable(Integer),
  reason: nullable(Text),
  edited_arguments: nullable(AnyObject),
  continued_by: nullable(Type.String({ description: 'The response that continues after the decision.' })),
})
export type Approval = Static<typeof Approval>

/** Fields that pages of other origins do not see. */
const HIDDEN = [
  'id',
  'response_id',
  'run_id',
  'arguments',
  'message',
  'url',
  'schema',
  'decided_by',
  'reason',
  'edited_arguments',
  'continued_by',
] as const

/** Approval as pages of other origins get it: that something waits, and for which tool of which agent. */
export const HiddenApproval = Type.Object({ ...Approval.properties, ...withHidden(Type.Null()) })
export type HiddenApproval = Static<typeof HiddenApproval>

export function hideApproval(approval: Approval): HiddenApproval {
  return { ...approval, ...withHidden(null) }
}

function withHidden<T>(value: T) {
  return Object.fromEntries(HIDDEN.map((name) => [name, value])) as Record<(typeof HIDDEN)[number], T>
}

/** Decision of a person, as clients send it. */
export type ApprovalDecision =
  | { readonly decision: 'approve' }
  | { readonly decision: 'reject'; readonly reason?: string }
  | { readonly decision: 'edit'; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly decision: 'answer'; readonly answer: unknown }
