import type { RecordStore } from '../../store/record-store.ts'
import { tenantRecords } from '../../store/tenant-records.ts'
import { QUEUED, RUNNING } from '../runs/run-keys.ts'

/** Index of the approvals that expire, in the order in which they do: the others need not be read to find them. */
export const EXPIRING_APPROVALS = 'expiring-approval:'
/** Index of the requests with an idempotency key, in the order in which they expire. */
export const EXPIRING_REQUESTS = 'expires:'

/** Index of the deliveries to webhooks, by webhook and the time when they are due. */
export const DELIVERIES_DUE = 'delivery-due:'

/** Indexes that the server reads for all tenants together. */
const INDEXES = [RUNNING, QUEUED, EXPIRING_APPROVALS, EXPIRING_REQUESTS, DELIVERIES_DUE]

/**
 * Returns the part of the store that holds the runs of a tenant, with everything that belongs to them.
 *
 * @param records of the whole store
 */
export function tenantPart(records: RecordStore, tenant: string): RecordStore {
  return tenantRecords(records, tenant, INDEXES)
}

/** Unix milliseconds as a part of a key: sorts like the number. */
export function timeKey(ms: number): string {
  return String(ms).padStart(15, '0')
}
