import type { PendingAnswer, PendingCall } from '../../../run/pending-call.ts'

/** Response of a person to an elicitation (`ElicitResult` of the MCP schema). */
export interface ElicitationResponse {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Readonly<Record<string, unknown>> | undefined
}

/** Sentence and form that a person is asked with. Forms are flat objects by the specification. */
export function toElicitation(pending: PendingCall): { message: string; requestedSchema: Record<string, unknown> } {
  const { kind, name, message, schema = {} } = pending
  if (kind === 'question') return { message: message ?? name, requestedSchema: { ...toForm(schema) } }
  return {
    message: `May I call ${name}(${JSON.stringify(pending.arguments)})?`,
    requestedSchema: { type: 'object', properties: {} },
  }
}

/** Returns the answer that a response stands for; undefined when the person has not decided. */
export function toAnswer(pending: PendingCall, { action, content }: ElicitationResponse): PendingAnswer | undefined {
  const { callId, kind, digest, schema = {}, earlierAnswers = [] } = pending
  if (action === 'cancel') return undefined
  if (kind === 'question') {
    if (action === 'decline') return undefined
    const answer = isForm(schema) ? content : content?.answer
    return { callId, kind, answers: [...earlierAnswers, answer], arguments: pending.arguments }
  }
  const decision = action === 'accept' ? 'approve' : 'reject'
  return { callId, kind: 'approval', decision, ...(digest === undefined ? {} : { digest }) }
}

/** A schema that is no object stands in a form of one field. */
function toForm(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isForm(schema) ? schema : { type: 'object', properties: { answer: schema }, required: ['answer'] }
}

function isForm({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === 'object'
}
