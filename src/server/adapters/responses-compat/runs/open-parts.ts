import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import { getOrAdd } from '../../../../get-or-add.ts'
import { visitsOf } from '../../../../host/host.ts'
import type { StoreAdapterOptions } from '../../adapter.ts'
import { makeTenantParts, type TenantParts } from './tenant-parts.ts'

/** Opens the durable runs, and returns a function that has the parts of a tenant, as the visitor of the moment sees them. */
export async function openParts({
  host,
  options: limits,
  describeFailure,
  durableRuns,
}: StoreAdapterOptions): Promise<(tenant: string) => TenantParts> {
  const all = await durableRuns.open()
  const { ids } = durableRuns
  const parts = new WeakMap<DurableRuns, TenantParts>()
  return (tenant) => {
    const runs = all.of(tenant, visitsOf(host).current?.sees)
    return getOrAdd(parts, runs, () => makeTenantParts(runs, { ids, host, limits, describeFailure }))
  }
}
