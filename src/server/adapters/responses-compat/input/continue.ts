import { approvalId } from '../../../../durable/approvals/approvals.ts'
import type { LoadedConversation, StoredTurn } from '../../../../durable/conversations/conversation-tree.ts'
import { toSuperseded } from '../../../../durable/conversations/superseded.ts'
import { HostError } from '../../../../errors.ts'
import type { Message } from '../../../../protocols/message.ts'
import { openCallsOf } from '../../../../run/state/paired-calls.ts'
import type { PendingAnswer, PendingCall } from '../../../../run/waiting/pending-call.ts'
import { invalidField } from '../../../bodies/invalid-field.ts'
import { otherKind } from './call-pairs.ts'
import { type ApprovalReply, type CallOutput, type ReadInput, toToolMessage } from './read-input.ts'

/** Part of a turn that a request adds to the conversation it continues. */
export interface Continuation {
  /** Messages of this turn alone. */
  readonly messages: readonly Message[]
  /** Answers to the calls that the response before waits for; undefined where the agent begins with a message. */
  readonly answers: readonly PendingAnswer[] | undefined
  /** Calls that the response before waits for, as long as they are answered by `answers`. */
  readonly pending: readonly PendingCall[]
}

/**
 * Joins the input of a request with the conversation that it continues.
 *
 * @param carriedOut calls that the response before waited for, and that a decision has carried out
 * @throws HostError `REQUEST_INVALID` for an output of no waiting call, calls without an output, and an input that says nothing
 */
export function continueConversation(
  { messages, outputs, approvals, added }: ReadInput,
  conversation: LoadedConversation | undefined,
  carriedOut: ReadonlySet<PendingCall>,
): Continuation {
  const pending = conversation?.last.pending ?? []
  refuseUnanswered(messages)
  if (added && !hasQuestion(messages) && !hasQuestion(conversation?.messages ?? [])) {
    throw invalidField(added.at, 'adds tools to a conversation without a user message')
  }
  const answers = [
    ...outputs.map((output) => toClientAnswer(output, pending)),
    ...approvals.map((approval) => toApprovalAnswer(approval, conversation?.last ?? {})),
  ]
  if (messages.length === 0 && answers.length > 0) return { messages, answers, pending }
  if (!messages.some(({ role }) => role === 'user' || role === 'tool')) {
    throw invalidField('input', 'must contain a user message')
  }
  const settled = pending.length > 0 ? settle(pending, outputs, answers, carriedOut) : []
  return { messages: [...settled, ...messages], answers: undefined, pending: [] }
}

/**
 * Appends items that a client adds without a run to the earlier ones. A call may stay open only at the end.
 *
 * @throws HostError `REQUEST_INVALID` for an output of no waiting call, and for messages over open calls
 */
export function addToConversation(
  { messages, outputs, approvals, calls }: ReadInput,
  conversation: LoadedConversation | undefined,
): { messages: readonly Message[]; pending: readonly PendingCall[] } {
  const waiting = conversation?.last.pending ?? []
  if (approvals.length > 0 || waiting.some(({ kind }) => kind !== 'client_tool')) {
    throw new HostError('RESPONSE_CONFLICT', 'The conversation waits for a decision: send it with the next response')
  }
  if (waiting.some(({ within }) => within !== undefined)) {
    const message = 'An agent that was called waits for the output of a tool: send it with the next response'
    throw new HostError('RESPONSE_CONFLICT', message)
  }
  const earlier = conversation?.messages ?? []
  const answers = outputs.map((output) => toClientAnswer(output, waiting) && toToolMessage(output))
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
  return { messages: [...answers, ...messages], pending }
}

function hasQuestion(messages: readonly Message[]): boolean {
  return messages.some(({ role }) => role === 'user')
}

function refuseUnanswered(messages: readonly Message[]): void {
  refuseOpen(openCallsOf(messages).map(({ id }) => id))
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

/**
 * A message while calls are open: outputs sent with it answer the client's calls; all other open calls are rejected, and those of
 * agents that were called: these do not go on.
 */
function settle(
  pending: readonly PendingCall[],
  outputs: readonly CallOutput[],
  answers: readonly PendingAnswer[],
  carriedOut: ReadonlySet<PendingCall>,
): Message[] {
  const answered = new Set(answers.map(({ callId }) => callId))
  refuseOpen(pending.flatMap(({ callId, kind }) => (kind === 'client_tool' && !answered.has(callId) ? [callId] : [])))
  const others = pending.filter(({ kind, within }) => kind !== 'client_tool' || within !== undefined)
  const own = outputs.filter(({ callId }) => !others.some((call) => call.callId === callId))
  return [...own.map(toToolMessage), ...toSuperseded(others, carriedOut)]
}

function invalid(message: string): HostError {
  return new HostError('REQUEST_INVALID', message, { field: 'input' })
}
