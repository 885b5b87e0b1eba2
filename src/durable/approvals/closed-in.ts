import type { Change, Entry } from '../../store/record-store.ts'
import { kindOf } from '../../store/tenant-records.ts'
import type { StoredApproval } from './stored-approval.ts'

/**
 * Finds the calls that changes close: those that were open, and are not from now on.
 *
 * @param equal records as they were before
 */
export function closedIn(
  changes: readonly Change[],
  equal: readonly Entry[] = [],
): { readonly key: string; readonly approval: StoredApproval }[] {
  return changes.flatMap(([key, text]) => {
    if (text === undefined || kindOf(key) !== 'approval') return []
    const before = equal.find(([other]) => other === key)?.[1]
    if (before === undefined || JSON.parse(before).status !== 'pending') return []
    const approval: StoredApproval = JSON.parse(text)
    return approval.status === 'pending' ? [] : [{ key, approval }]
  })
}
