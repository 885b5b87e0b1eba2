import { fieldsOf, isObject } from '../../../../json.ts'
import { nowSeconds } from '../../../../now-seconds.ts'
import type { PendingAnswer, PendingCall } from '../../../../run/waiting/pending-call.ts'
import { cleanText, cleanToDecide } from '../../../../wire/clean-text.ts'
import { nameAsker } from '../../../../wire/name-asker.ts'

/** Response of a person to an elicitation (`ElicitResult` of the MCP schema); `invalid` is one that the schema does not know. */
export interface ElicitationResponse {
  readonly action: 'accept' | 'decline' | 'cancel' | 'invalid'
  readonly content?: Readonly<Record<string, unknown>> | undefined
}

/** Reads what a client sent as the response of its user: null or undefined where it sent an error, which cancels. A response that the schema does not know decides nothing. */
export function readResponse(result: unknown): ElicitationResponse {
  const { action, content } = fieldsOf(result)
  if (action === 'decline') return { action }
  if (action === 'cancel' || result == null) return { action: 'cancel' }
  if (action !== 'accept') return { action: 'invalid' }
  // Some clients write what they leave out as null.
  if (content == null) return { action }
  return isObject(content) ? { action, content } : { action: 'invalid' }
}

/** Tells whether a response is none to this question, so that neither its words nor its silence may be taken for a decision. */
export function isInvalidFor({ kind }: PendingCall, { action, content }: ElicitationResponse): boolean {
  // The form of an approval has no fields. Whatever a client has put in it, such as `approve: false`, is not this question's answer.
  return action === 'invalid' || (kind === 'approval' && Object.keys(content ?? {}).length > 0)
}

/** Tells whether a client that declares this capability can show forms: without modes it means them. */
export function canElicitForm(elicitation: unknown): boolean {
  return isObject(elicitation) && (Object.keys(elicitation).length === 0 || isObject(elicitation.form))
}

/** Sentence and form that a person is asked with. Forms are flat objects by the specification. */
export function toElicitation(pending: PendingCall): { message: string; requestedSchema: Record<string, unknown> } {
  const { kind, name, message, schema = {} } = pending
  if (kind === 'question') return { message: cleanText(message ?? name), requestedSchema: { ...toForm(schema) } }
  return {
    message: `May ${pending.asker ? nameAsker(pending.asker) : 'I'} call ${cleanToDecide(`${name}(${JSON.stringify(pending.arguments)})`)}?`,
    requestedSchema: { type: 'object', properties: {} },
  }
}

/** Returns the answer that a response stands for; undefined when the person has not decided. */
export function toPendingAnswer(
  pending: PendingCall,
  response: ElicitationResponse,
  by: string,
): PendingAnswer | undefined {
  const { callId, kind, digest, schema = {} } = pending
  const { action, content } = response
  if (action === 'cancel' || isInvalidFor(pending, response)) return undefined
  if (kind === 'question') {
    if (action === 'decline') return undefined
    const answer = isForm(schema) ? content : content?.answer
    return { callId, kind, answers: [answer] }
  }
  const decision = action === 'accept' ? 'approve' : 'reject'
  const at = nowSeconds()
  return { callId, kind: 'approval', decision, by, at, ...(digest === undefined ? {} : { digest }) }
}

/** A schema that is no object stands in a form of one field. */
function toForm(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isForm(schema) ? schema : { type: 'object', properties: { answer: schema }, required: ['answer'] }
}

function isForm({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === 'object'
}
