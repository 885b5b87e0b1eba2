import type { Message } from '../../protocols/message.ts'
import { toToolMessage } from '../../run/state/trail.ts'
import { type PendingAnswer, type PendingCall, toolCallOf } from '../../run/waiting/pending-call.ts'
import { approvalId, type StoredApproval } from '../approvals/approvals.ts'
import type { StoredTurn } from '../conversations/conversation-tree.ts'

/**
 * Results of the calls that are still open when a message comes, one for each tool call of the conversation: outputs that the client sends
 * with it, and rejections of all others. Agents that were called do not go on.
 *
 * @param elsewhere calls that a person allowed, and that run in another branch: the model must not think that they were not executed
 */
export function settle(
  pending: readonly PendingCall[],
  outputs: readonly PendingAnswer[],
  elsewhere: ReadonlySet<PendingCall>,
): Message[] {
  const others = pending.filter(({ kind, within }) => kind !== 'client_tool' || within !== undefined)
  const own = outputs.flatMap((output) => {
    if (output.kind !== 'client_tool' || others.some(({ callId }) => callId === output.callId)) return []
    return [toToolMessage(output.callId, output.result)]
  })
  const superseded = pending.filter((call) => !own.some(({ toolCallId }) => toolCallId === toolCallOf(call)))
  return [...own, ...toSuperseded(superseded, elsewhere)]
}

/** Calls of a turn that were allowed, and that another run has continued with. */
export function findCarriedOut(
  approvals: readonly StoredApproval[],
  { response_id: runId, pending = [] }: StoredTurn,
): ReadonlySet<PendingCall> {
  // Those that were superseded by a message took the others with them.
  if (approvals.some(({ status }) => status === 'superseded')) return new Set()
  const ids = new Set(approvals.filter(isCarriedOut).map(({ id }) => id))
  return new Set(pending.filter((_, index) => ids.has(approvalId(runId, index))))
}

function isCarriedOut({ status, continuedBy }: StoredApproval): boolean {
  return continuedBy !== null && (status === 'approved' || status === 'edited' || status === 'answered')
}

function toSuperseded(pending: readonly PendingCall[], elsewhere: ReadonlySet<PendingCall>): Message[] {
  const byToolCall = new Map<string, PendingCall[]>()
  for (const call of pending) byToolCall.set(toolCallOf(call), [...(byToolCall.get(toolCallOf(call)) ?? []), call])
  return [...byToolCall].map(([toolCallId, calls]) => {
    const rejected = nameAll(calls.filter((call) => !elsewhere.has(call)))
    const allowed = nameAll(calls.filter((call) => elsewhere.has(call)))
    const sentences = [
      ...(rejected ? [`The call of ${rejected} was not executed: it was superseded by a message of the user.`] : []),
      ...(allowed
        ? [
            `The call of ${allowed} was allowed by a person and runs in another branch of the conversation: its result is not known here.`,
          ]
        : []),
    ]
    return { role: 'tool', toolCallId, content: sentences.join(' '), isError: true }
  })
}

function nameAll(calls: readonly PendingCall[]): string {
  return [...new Set(calls.map(({ name }) => `'${name}'`))].join(', ')
}
