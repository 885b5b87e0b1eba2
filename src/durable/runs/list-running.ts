import type { RecordStore } from '../../store/record-store.ts'
import { parseIndexKey, type TenantItem } from '../../store/tenant-records.ts'
import { RUNNING } from './run-keys.ts'

/** More than all servers run at once. */
const MAX_RUNNING = 1_000_000

/** Run in progress. */
export interface RunningRun extends TenantItem {
  /** Of its owner. */
  readonly mark: string
}

/**
 * Lists the runs in progress, of all tenants.
 *
 * @param records of the whole store
 */
export async function listRunning(records: RecordStore): Promise<RunningRun[]> {
  const entries = await records.entries({ prefix: RUNNING, limit: MAX_RUNNING })
  return entries.map(([key, mark]) => ({ ...parseIndexKey(RUNNING, key), mark }))
}
