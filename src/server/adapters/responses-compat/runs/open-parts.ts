import { getOrAdd } from '../../../../get-or-add.ts'
import type { StoreAdapterOptions } from '../../adapter.ts'
import { makeTenantParts, type TenantParts } from './tenant-parts.ts'

/** Opens the durable runs, and returns a function that has the parts of a tenant. */
export async function openParts({
  host,
  options: limits,
  describeFailure,
  durableRuns,
}: StoreAdapterOptions): Promise<(tenant: string) => TenantParts> {
  const runs = await durableRuns.open()
  const { ids } = durableRuns
  const tenants = new Map<string, TenantParts>()
  return (tenant) =>
    getOrAdd(tenants, tenant, () => makeTenantParts(runs.of(tenant), { ids, host, limits, describeFailure }))
}
