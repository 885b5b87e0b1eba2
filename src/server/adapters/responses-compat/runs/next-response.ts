import type { NextRun } from '../../../../durable/approvals/deciding.ts'
import { makeTurn } from '../../../../durable/conversations/conversation-tree.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { nowSeconds } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import type { PendingAnswer } from '../../../../run/state/pending-call.ts'
import type { AdapterOptions } from '../../../adapter.ts'
import { COMPAT } from '../../../replies/dialect.ts'
import { beginRecord } from '../input/convert.ts'
import { SHOWN_AFTER_DECISION, toJob } from '../input/to-job.ts'
import { toTurn } from '../input/to-turn.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'
import type { ConversationItems } from './conversation-items.ts'
import { repeatRequest } from './repeat-request.ts'

export interface NextResponseOptions {
  readonly runs: DurableRuns<ResponseRecord, InputItem>
  readonly ids: RunIds
  readonly items: ConversationItems
  readonly host: AdapterOptions['host']
}

/**
 * Describes the response that continues a waiting one with decisions; undefined when it waits for its client, too.
 *
 * @throws HostError `RESPONSE_NOT_FOUND`, `AGENT_NOT_FOUND`, `RECORD_UNREADABLE`
 */
export async function describeNext(
  { runs, ids, items, host }: NextResponseOptions,
  runId: string,
  answers: readonly PendingAnswer[],
): Promise<NextRun<ResponseRecord, InputItem> | undefined> {
  const waiting = await runs.store.get(runId)
  const named = await runs.conversations.endingWith(runId)
  const conversation = await (named ? items.load(named) : runs.store.conversation(runId))
  if (!waiting || !conversation) throw new HostError('RESPONSE_NOT_FOUND', 'Response not found')
  const { messages: earlier, last } = conversation
  const { pending = [] } = last
  if (answers.length < pending.length) return undefined
  const body = repeatRequest(waiting.facts)
  const id = ids.next()
  const createdAt = nowSeconds()
  const facts = { ...beginRecord(body, id, createdAt), ...(named ? { conversation: { id: named.id } } : {}) }
  const turn = {
    ...toTurn(host, { runId: ids.uuidOf(id), tenant: runs.tenant, body, messages: earlier, dialect: COMPAT }),
    answers,
    pending,
  }
  host.check(body.model, turn)
  const stored = { ...makeTurn(id, createdAt, [], last, pending), ...(named ? { conversation: named.id } : {}) }
  const claim = named && runs.conversations.claim(named, id)
  return {
    draft: { id, facts, items: [], turn: stored, earlier, idempotency: undefined, claim },
    job: toJob(body, turn, host.resolve(body.model).agent, SHOWN_AFTER_DECISION),
  }
}
