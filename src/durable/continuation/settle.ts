import type { Message } from '../../protocols/message.ts'
import { toToolMessage } from '../../run/state/trail.ts'
import { openOf, type PendingAnswer, type PendingCall, toolCallOf } from '../../run/waiting/pending-call.ts'
import { approvalId } from '../approvals/approvals.ts'
import type { StoredApproval } from '../approvals/stored-approval.ts'
import type { Before } from './before.ts'

/** Endings of calls that a message does not answer; one that is left out is superseded by it. */
export type CallEndings = ReadonlyMap<PendingCall, keyof typeof SENTENCES>

/** Sentences that the model reads in the place of a result, by the ending of the call; `%` stands for its name. */
const SENTENCES = {
  superseded: 'The call of % was not executed: it was superseded by a message of the user.',
  expired: 'The call of % was not executed: no one decided in time.',
  cancelled: 'The call of % was not executed: it was cancelled.',
  // The model must not think that it was not executed.
  elsewhere:
    'The call of % was allowed by a person and runs in another branch of the conversation: its result is not known here.',
} as const

/**
 * Results of the calls that are still open when a message comes, one for each tool call of the conversation: outputs that the client sends
 * with it, and how all others ended. Agents that were called do not go on.
 */
export function settle(
  pending: readonly PendingCall[],
  outputs: readonly PendingAnswer[],
  endings: CallEndings,
): Message[] {
  const others = pending.filter(({ kind, within }) => kind !== 'client_tool' || within !== undefined)
  const own = outputs.flatMap((output) => {
    if (output.kind !== 'client_tool' || others.some(({ callId }) => callId === output.callId)) return []
    return [toToolMessage(output.callId, output.result)]
  })
  const closed = pending.filter((call) => !own.some(({ toolCallId }) => toolCallId === toolCallOf(call)))
  return [...own, ...tellEndings(closed, endings)]
}

/** Results of the calls of a run that no answer can continue: it was cancelled, or all have expired. Undefined for any other. */
export function closedCalls(before: Before): Message[] | undefined {
  const { approvals, isCancelled, conversation } = before
  const { pending = [] } = conversation.last
  const isExpired = approvals.length === pending.length && approvals.every(({ status }) => status === 'expired')
  if (pending.length === 0 || !(isCancelled || isExpired)) return undefined
  return settle(openOf(pending), [], findEndings(before))
}

/** Endings of the calls of a turn: those that were allowed and that another run has continued with, that expired, or were cancelled. */
export function findEndings({ approvals, isCancelled, conversation: { last } }: Before): CallEndings {
  const byId = new Map(approvals.map((approval) => [approval.id, approval]))
  // Those that were superseded by a message took the others with them.
  const isSuperseded = approvals.some(({ status }) => status === 'superseded')
  const endingOf = (approval: StoredApproval | undefined) => {
    if (approval?.status === 'expired') return 'expired'
    if (approval && !isSuperseded && isCarriedOut(approval)) return 'elsewhere'
    return isCancelled ? 'cancelled' : 'superseded'
  }
  const { response_id: runId, pending = [] } = last
  const endings = pending.map((call, index) => [call, endingOf(byId.get(approvalId(runId, index)))] as const)
  // Those that were answered in an earlier round, and wait beside the others.
  const answered = openOf(pending).map((call) => [call, endingOf(undefined)] as const)
  return new Map([...answered, ...endings])
}

function isCarriedOut({ status, continuedBy }: StoredApproval): boolean {
  return continuedBy !== null && (status === 'approved' || status === 'edited' || status === 'answered')
}

function tellEndings(pending: readonly PendingCall[], endings: CallEndings): Message[] {
  const byToolCall = new Map<string, Set<string>>()
  for (const call of pending) {
    const sentence = SENTENCES[endings.get(call) ?? 'superseded'].replace('%', () => `'${call.name}'`)
    byToolCall.set(toolCallOf(call), (byToolCall.get(toolCallOf(call)) ?? new Set()).add(sentence))
  }
  return [...byToolCall].map(([toolCallId, sentences]) => {
    return { role: 'tool', toolCallId, content: [...sentences].join(' '), isError: true }
  })
}
