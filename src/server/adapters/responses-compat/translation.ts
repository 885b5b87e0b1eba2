import type { Translation } from '../../../durable/adapter-runs/translation.ts'
import type { NextIdentity } from '../../../durable/decisions/next-run.ts'
import { NO_USAGE } from './input/begin-record.ts'
import { leaveOut } from './input/removed-items.ts'
import type { ResponseRecord } from './routes/schema.ts'
import { toResponseRuns } from './runs/response-runs.ts'

/** Part of this API in responses that go on without a request: after decisions, and in the queue. */
export const translation: Translation = {
  continueFacts: (waiting, next) => continueRecord(waiting as ResponseRecord, next),
  leaveOut: (runs, ...removal) => leaveOut(toResponseRuns(runs), ...removal),
}

/** The record of a response that continues a waiting one, with the same options but `tool_choice`. */
function continueRecord(
  waiting: ResponseRecord,
  { id, createdAt, previousId, conversation }: NextIdentity,
): ResponseRecord {
  const { conversation: _named, ...record } = waiting
  return {
    ...record,
    ...{ output: [], usage: NO_USAGE },
    ...{ id, created_at: createdAt, previous_response_id: previousId, background: true, tool_choice: 'auto' },
    ...(conversation === undefined ? {} : { conversation: { id: conversation } }),
  }
}
