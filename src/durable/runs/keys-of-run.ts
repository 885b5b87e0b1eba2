import type { RecordStore } from '../../store/record-store.ts'
import type { Approvals } from '../approvals/approvals.ts'
import { requestKeys } from '../idempotency/idempotent-requests.ts'
import { isUnreadable } from '../rows/unreadable-rows.ts'
import { continuedKey, itemsPrefix, queuedKey, rowKey, runningKey, stepsLog, waitingKey } from './run-keys.ts'
import { locateItems, parseRunRow, type RunRow } from './run-row.ts'

/** More rows of one kind than any run has. */
const MAX_ROWS = 1_000_000

/**
 * Lists the keys of everything that is stored for a run alone: what its deletion removes.
 *
 * @param text of its row, also of one that cannot be read
 */
export async function listKeysOfRun(
  id: string,
  text: string,
  records: RecordStore,
  approvals: Approvals,
): Promise<string[]> {
  const batches = await records.list({ prefix: `${stepsLog(id)}:`, limit: MAX_ROWS })
  const own = [rowKey(id), runningKey(id), queuedKey(id), continuedKey(id), waitingKey(id), ...batches]
  try {
    const row = parseRunRow(id, text)
    const items = row.items ? [] : locateItems(id, 0, row.inputs).keys
    const request = row.idempotency ? requestKeys(row.idempotency) : []
    const waiting = hasApprovals(row) ? await approvals.keysOfRun(id) : []
    return [...own, ...items, ...request, ...waiting]
  } catch (error) {
    if (!isUnreadable(error)) throw error
    // Its request is forgotten when it comes again, or expires.
    const items = await records.list({ prefix: itemsPrefix(id), limit: MAX_ROWS })
    return [...own, ...items, ...(await approvals.keysOfRun(id))]
  }
}

/** Tells whether a run has ended waiting for a person. */
function hasApprovals({ steps }: RunRow): boolean {
  return steps.some((step) => typeof step === 'object' && 'pending' in step && step.pending.kind !== 'client_tool')
}
