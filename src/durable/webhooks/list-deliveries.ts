import type { DurableRuns } from '../durable-runs.ts'
import type { RunService } from '../run-service.ts'
import { DELIVERIES, type ReadDelivery, readDeliveries } from './delivery-rows.ts'

/** Returns a page of the deliveries of a tenant that have not arrived, dead ones included: those of the latest runs first. */
export async function listDeliveries({ records, unreadable }: DurableRuns, limit: number): Promise<ReadDelivery[]> {
  const entries = await records.entries({ prefix: DELIVERIES, limit, order: 'desc' })
  return readDeliveries(entries, unreadable)
}

/** Returns such a page of each tenant; none where there is no store, which its first use would make. */
export async function listAllDeliveries(
  service: RunService,
  limit: number,
): Promise<(ReadDelivery & { readonly runs: DurableRuns })[]> {
  if (!service.hasStore) return []
  const all = await (await service.open()).allTenants()
  const pages = all.map(async (runs) => (await listDeliveries(runs, limit)).map((read) => ({ ...read, runs })))
  return (await Promise.all(pages)).flat()
}
