import { randomUUID } from 'node:crypto'
import type { Message } from '../../../protocols/message.ts'
import type { PendingAnswer, PendingCall } from '../../../run/pending-call.ts'
import { bytesOfMessages } from '../../bytes-of-messages.ts'
import { Recent } from '../../recent.ts'

/** Call of a tool whose run waits for the person behind the client. */
export interface WaitingCall {
  /** Name of the tool, as the client calls it. */
  readonly name: string
  readonly pending: readonly PendingCall[]
  readonly trail: readonly Message[]
}

const LIMITS = { maxItems: 1000, maxBytes: 256 * 1024 * 1024 }

/** Waiting calls, in memory, by ids that nobody can guess. Each is taken once: a repeated answer finds nothing. */
export class WaitingCalls {
  readonly #calls = new Recent<WaitingCall>(LIMITS, ({ trail }) => bytesOfMessages(trail))

  keep(call: WaitingCall): string {
    const id = randomUUID()
    this.#calls.set(id, call)
    return id
  }

  /** Undefined when there is no such call of that tool, or it was answered before. */
  take(id: string, name: string): WaitingCall | undefined {
    const call = this.#calls.get(id)
    if (call?.name !== name) return undefined
    this.#calls.delete(id)
    return call
  }
}

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
