import { fieldsOf, HostError, isObject, type OpenCall, type PendingAnswer, type PendingCall } from 'agent-host'
import type { Resume } from './run-input.ts'

/**
 * Returns the answers of `resume`. An entry to a call that is not open has no effect: it was answered elsewhere.
 *
 * @throws HostError `REQUEST_INVALID` for a payload that says neither yes nor no
 */
export function readAnswers(resume: readonly Resume[], open: readonly OpenCall[]): PendingAnswer[] {
  return open.flatMap(({ id, call }): PendingAnswer[] => {
    const entry = resume.find(({ interruptId }) => interruptId === id)
    if (!entry || call.kind === 'client_tool') return []
    return [call.kind === 'question' ? toAnswer(call, entry) : toDecision(call, entry)]
  })
}

/** @throws HostError `REQUEST_INVALID` for two entries to one call: which of them counts must not depend on their order */
export function refuseRepeated(resume: readonly Resume[]): void {
  const seen = new Set<string>()
  for (const { interruptId } of resume) {
    if (seen.has(interruptId)) throw new HostError('REQUEST_INVALID', `resume: '${interruptId}' is answered twice`)
    seen.add(interruptId)
  }
}

/** Tells whether a question is left without an answer: then its run is cancelled. */
export function abandonsQuestion(resume: readonly Resume[], open: readonly OpenCall[]): boolean {
  return open.some(({ id, call }) => {
    return call.kind === 'question' && resume.some((entry) => entry.interruptId === id && entry.status === 'cancelled')
  })
}

function toAnswer({ callId }: PendingCall, { payload }: Resume): PendingAnswer {
  return { callId, kind: 'question', answers: [payload] }
}

/** Nothing but an explicit approval executes a call. */
function toDecision({ callId }: PendingCall, { interruptId, status, payload }: Resume): PendingAnswer {
  const { approved = payload, editedArgs, reason = null } = fieldsOf(payload)
  if (reason !== null && typeof reason !== 'string')
    throw new HostError('REQUEST_INVALID', `resume: the reason for '${interruptId}' must be a text.`)
  const told = reason === null ? {} : { reason }
  const answer = { callId, kind: 'approval' } as const
  if (status === 'cancelled' || approved === false) return { ...answer, decision: 'reject', ...told }
  if (approved === true && editedArgs === undefined) return { ...answer, decision: 'approve', ...told }
  if (approved === true && isObject(editedArgs)) return { ...answer, decision: 'edit', arguments: editedArgs, ...told }
  throw new HostError(
    'REQUEST_INVALID',
    `resume: the payload for '${interruptId}' must be { "approved": true } or { "approved": false }; editedArgs is an object.`,
  )
}
