import { approvalId } from '../../../../durable/approvals/approvals.ts'
import type { Before } from '../../../../durable/continuation/before.ts'
import { DECISION_FIRST, keepsDecisions } from '../../../../durable/continuation/join-decisions.ts'
import type { Given } from '../../../../durable/continuation/next.ts'
import { closedCalls } from '../../../../durable/continuation/settle.ts'
import type { StoredTurn } from '../../../../durable/conversations/conversation-tree.ts'
import { badRequest, HostError } from '../../../../errors.ts'
import { isUser, type Message } from '../../../../protocols/message.ts'
import { toToolMessage } from '../../../../run/state/trail.ts'
import type { PendingAnswer, PendingCall } from '../../../../run/waiting/pending-call.ts'
import { openCallsOf } from '../../../../wire/paired-calls.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import { otherKind } from './call-pairs.ts'
import type { ApprovalReply, CallOutput, ReadInput } from './read-input.ts'

/** Part of a request for the next run of a conversation. */
export type SaidNow = Pick<Given, 'messages' | 'answers'>

/**
 * Reads what a request adds to the conversation that it continues: messages with the outputs of calls that stand before them, or answers.
 *
 * @throws HostError `REQUEST_INVALID` for an output of no waiting call, calls without an output, and an input that says nothing
 */
export function continueConversation(
  { messages, outputs, approvals, added }: ReadInput,
  before: Pick<Before, 'conversation' | 'isCancelled'> | undefined,
): SaidNow {
  const { conversation, isCancelled } = before ?? {}
  const pending = conversation?.last.pending ?? []
  refuseUnanswered(messages)
  if (added && !messages.some(isUser) && !conversation?.messages.some(isUser)) {
    throw invalidField(added.at, 'adds tools to a conversation without a user message')
  }
  const answers = [
    ...outputs.map((output) => toClientAnswer(output, pending)),
    ...approvals.map((approval) => toApprovalAnswer(approval, conversation?.last ?? {})),
  ]
  if (messages.length === 0 && answers.length > 0) return { messages, answers }
  if (!messages.some(({ role }) => role === 'user' || role === 'tool')) {
    throw invalidField('input', 'must contain a user message')
  }
  if (approvals.length > 0) throw invalid(`input: ${DECISION_FIRST}`)
  if (pending.length > 0 && !isCancelled) refuseUnansweredCalls(pending, answers)
  return { messages, answers }
}

function refuseUnansweredCalls(pending: readonly PendingCall[], answers: readonly PendingAnswer[]): void {
  const answered = new Set(answers.map(({ callId }) => callId))
  refuseOpen(pending.flatMap(({ callId, kind }) => (kind === 'client_tool' && !answered.has(callId) ? [callId] : [])))
}

/**
 * Appends items that a client adds without a run to the earlier ones. A call may stay open only at the end.
 *
 * @throws HostError `REQUEST_INVALID` for an output of no waiting call, and for messages over open calls
 */
export function addToConversation(
  { messages, outputs, approvals, calls }: ReadInput,
  before: Before | undefined,
): { messages: readonly Message[]; pending: readonly PendingCall[] } {
  const closed = before && closedCalls(before)
  const waiting = closed ? [] : (before?.conversation.last.pending ?? [])
  if (approvals.length > 0 || waiting.some(({ kind }) => kind !== 'client_tool')) {
    throw new HostError('RESPONSE_CONFLICT', 'The conversation waits for a decision: send it with the next response')
  }
  const isCalled = waiting.some(({ within }) => within !== undefined)
  if (isCalled || keepsDecisions(waiting)) {
    const who = isCalled ? 'An agent that was called' : 'A call that a person has decided'
    throw new HostError('RESPONSE_CONFLICT', `${who} waits for the output of a tool: send it with the next response`)
  }
  const earlier = [...(before?.conversation.messages ?? []), ...(closed ?? [])]
  const answers = outputs.map((output) => {
    toClientAnswer(output, waiting)
    return toToolMessage(output.callId, output.result)
  })
  if (messages.length > 0) refuseOpen(openCallsOf([...earlier, ...answers]).map(({ id }) => id))
  const last = messages.at(-1)
  if (last?.role !== 'assistant') refuseUnanswered(messages)
  else refuseUnanswered([...messages.slice(0, -1), { ...last, toolCalls: [] }])
  const open = openCallsOf([...earlier, ...answers, ...messages])
  const pending = open.map(({ id: callId, name, arguments: args }): PendingCall => {
    const known = waiting.find((call) => call.callId === callId)?.client
    const client = known ?? (calls.isCustom(callId) ? { name, isCustom: true } : undefined)
    return { callId, kind: 'client_tool', name, arguments: args, ...(client ? { client } : {}) }
  })
  return { messages: [...(closed ?? []), ...answers, ...messages], pending }
}

function refuseUnanswered(messages: readonly Message[]): void {
  if (messages.some((message) => 'toolCalls' in message)) refuseOpen(openCallsOf(messages).map(({ id }) => id))
}

function refuseOpen(callIds: readonly string[]): void {
  if (callIds.length === 0) return
  const names = callIds.map((id) => `'${id}'`).join(', ')
  throw invalid(`input: no function_call_output for ${names}; send one for each open call`)
}

function toClientAnswer({ callId, kind, at, result }: CallOutput, pending: readonly PendingCall[]): PendingAnswer {
  const call = pending.find((open) => open.callId === callId && open.kind === 'client_tool')
  if (call) {
    if ((kind === 'custom') !== (call.client?.isCustom ?? false)) throw otherKind(callId, kind, at)
    return { callId, kind: 'client_tool', result }
  }
  throw invalid(`input: no call '${callId}' waits for an output`)
}

function toApprovalAnswer(
  { requestId, isApproved, reason }: ApprovalReply,
  { response_id: responseId, pending = [] }: Partial<StoredTurn>,
): PendingAnswer {
  const call = pending.find((_call, index) => responseId !== undefined && approvalId(responseId, index) === requestId)
  if (call?.kind !== 'approval') throw invalid(`input: no approval request '${requestId}' waits for a response`)
  return {
    callId: call.callId,
    kind: 'approval',
    decision: isApproved ? 'approve' : 'reject',
    ...(reason === undefined ? {} : { reason }),
    ...(call.digest === undefined ? {} : { digest: call.digest }),
  }
}

function invalid(message: string): HostError {
  return badRequest(message, { field: 'input' })
}
