import type { Continuation, NextIdentity } from '../../../../durable/approvals/next-run.ts'
import type { Conversation, LoadOptions, StoredTurn } from '../../../../durable/conversations/conversation-tree.ts'
import { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import type { Job } from '../../../../durable/queue/job.ts'
import { HostError } from '../../../../errors.ts'
import type { Message } from '../../../../protocols/message.ts'
import type { AdapterOptions } from '../../../adapter.ts'
import { SHOWN_AFTER_DECISION } from '../input/to-job.ts'
import { withoutUnseen } from '../input/to-messages.ts'
import { truncate } from '../input/truncate.ts'
import type { ResponseRecord } from '../routes/schema.ts'
import type { TenantParts } from './tenant-parts.ts'

export interface ContinuationOptions {
  /** Called when a conversation of a tenant is read. */
  readonly partsOf: (tenant: string) => Pick<TenantParts, 'runs' | 'items'>
  readonly host: AdapterOptions['host']
  readonly limits: AdapterOptions['options']
}

/** Part of this API in responses that go on without a request: after decisions, and in the queue. */
export function describeContinuation(options: ContinuationOptions): Continuation<ResponseRecord> {
  return {
    shows: SHOWN_AFTER_DECISION,
    describeFacts: continueRecord,
    readMessages: (tenant, turn, job) => readMessages({ ...options, ...options.partsOf(tenant) }, turn, job),
  }
}

/** The record of a response that continues a waiting one, with the same options but `tool_choice`. */
function continueRecord(
  waiting: ResponseRecord,
  { id, createdAt, previousId, conversation }: NextIdentity,
): ResponseRecord {
  const { conversation: _named, ...record } = waiting
  return {
    ...record,
    ...{ id, created_at: createdAt, previous_response_id: previousId, background: true, tool_choice: 'auto' },
    ...(conversation === undefined ? {} : { conversation: { id: conversation } }),
  }
}

async function readMessages(
  parts: Pick<TenantParts, 'runs' | 'items'> & Pick<ContinuationOptions, 'host' | 'limits'>,
  turn: StoredTurn,
  { agent, isTruncated = false }: Job,
): Promise<readonly Message[]> {
  const { runs, host, limits } = parts
  const { capabilities } = host.resolve(agent)
  const budget = isTruncated ? { budget: new HistoryBudget(limits), isTruncated } : {}
  const earlier = await readEarlier(parts, turn, budget)
  const all = [...earlier, ...(await runs.store.messagesOf(turn))]
  const open = (turn.pending ?? []).map(({ callId }) => callId)
  const seen = isTruncated ? truncate(all, new HistoryBudget(limits), open) : all
  return withoutUnseen(seen, capabilities.attachments)
}

/** Reads what stands before a turn. Items that were removed from its conversation are left out. */
async function readEarlier(
  { runs, items }: Pick<TenantParts, 'runs' | 'items'>,
  { previous_response_id: head, conversation: id }: StoredTurn,
  options: LoadOptions,
): Promise<readonly Message[]> {
  if (head === null) return []
  const named = id === undefined ? undefined : await runs.conversations.find(id)
  const found: Conversation | undefined = await (named
    ? items.load({ ...named, head }, options)
    : runs.store.conversation(head, options))
  if (found) return found.messages
  throw new HostError('RESPONSE_NOT_FOUND', 'Response not found')
}
