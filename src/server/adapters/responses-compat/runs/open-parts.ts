import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import { getOrAdd } from '../../../../get-or-add.ts'
import { VISITS } from '../../../../host/host.ts'
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
  const ofAll = new Map<string, TenantParts>()
  const ofSome = new WeakMap<DurableRuns, TenantParts>()
  const make = (runs: DurableRuns) => makeTenantParts(runs, { ids, host, limits, describeFailure })
  return (tenant) => {
    const sees = host[VISITS].current?.sees
    if (!sees) return ofAll.get(tenant) ?? getOrAdd(ofAll, tenant, () => make(all.of(tenant)))
    const runs = all.of(tenant, sees)
    return getOrAdd(ofSome, runs, () => make(runs))
  }
}
