import type { AgentHost } from '../host/host.ts'
import { Memory } from '../protocols/memory.ts'
import type { Run } from '../protocols/run.ts'
import type { RecordStore } from '../store/record-store.ts'
import { listTenants } from '../store/tenant-records.ts'

/** Number of the entries of a user in a memory. */
export interface Remembered {
  /** '' for the nameless one. */
  readonly tenant: string
  /** '' for requests without a user; null where the memory does not keep users apart. */
  readonly user: string | null
  readonly count: number
}

/**
 * Counts the entries of a memory by tenant and user.
 *
 * @param tenants to look at: see {@link tenantsOf}
 * @throws HostError as `host.callModule` does
 */
export async function countRemembered(
  host: AgentHost,
  { agentId, moduleId }: { readonly agentId: string; readonly moduleId: string },
  tenants: readonly string[],
): Promise<Remembered[]> {
  const all: Remembered[] = []
  const act = async (memory: Memory, run: Run) =>
    (await memory.owners?.(run)) ?? [{ user: null, count: (await memory.list(run)).length }]
  for (const tenant of tenants) {
    const call = { moduleId, protocol: Memory, tenant, isLook: true, act }
    const owners = (await host.callModule(agentId, call)) ?? []
    all.push(...owners.filter(({ count }) => count > 0).map(({ user, count }) => ({ tenant, user, count })))
  }
  return all
}

/** Lists the tenants of a store, the nameless one first. */
export async function tenantsOf(openRecords: () => Promise<RecordStore>): Promise<string[]> {
  const records = await openRecords()
  try {
    return await listTenants(records)
  } finally {
    await records.close()
  }
}
