import type { DurableRuns } from '../durable-runs.ts'
import { DELIVERIES, parseDelivery, type ReadDelivery } from './delivery-rows.ts'

/** Returns a page of the deliveries of a tenant that have not arrived, dead ones included: those of the latest runs first. */
export async function listDeliveries({ records, unreadable }: DurableRuns, limit: number): Promise<ReadDelivery[]> {
  const entries = await records.entries({ prefix: DELIVERIES, limit, order: 'desc' })
  const read = entries.map(([key, text]) => unreadable.read(() => ({ key, text, delivery: parseDelivery(key, text) })))
  return (await Promise.all(read)).filter((each) => each !== undefined)
}
