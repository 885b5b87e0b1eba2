import type { RecordStore } from '../../store/record-store.ts'
import { listTenants } from '../../store/tenant-records.ts'
import { hasOpenApprovals } from '../approvals/approvals.ts'
import { DELIVERIES_DUE, tenantPart } from '../rows/tenant-part.ts'
import { QUEUED, RUNNING } from './run-keys.ts'

/**
 * Tells whether a store has runs, of any tenant, that are queued, in progress or wait for a person, or events of runs for webhooks.
 *
 * @param records of the whole store
 */
export async function hasOpenRuns(records: RecordStore): Promise<boolean> {
  for (const prefix of [QUEUED, RUNNING, DELIVERIES_DUE])
    if ((await records.list({ prefix, limit: 1 })).length > 0) return true
  for (const tenant of await listTenants(records)) {
    if (await hasOpenApprovals(tenantPart(records, tenant))) return true
  }
  return false
}
