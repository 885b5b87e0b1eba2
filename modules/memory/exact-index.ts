import { defineModule, type Run, Storage, Type, VectorIndex } from 'agent-host'
import { FlatVectors } from './lib/flat-vectors.ts'
import { VectorLog } from './lib/vector-log.ts'
import type { VectorRecords } from './lib/vector-records.ts'
import { VectorTable } from './lib/vector-table.ts'

export default defineModule({
  name: 'ExactIndex',
  description: 'Finds the nearest vectors by comparing all of them; saved in a file, or in a store that servers share.',
  provides: [VectorIndex],
  uses: { storage: Storage },
  scope: 'agent',
  config: Type.Object({
    persist: Type.Boolean({
      default: true,
      description:
        'Save the vectors: in memory/<agent id>/<module id>.db (those of a tenant in a folder @<tenant>), or in the store if servers share one. Otherwise they are lost when the agent closes.',
    }),
  }),
  create: async ({ storage }, { persist }, context) => {
    /** The vectors of each tenant, read when its first run needs them. */
    const tenants = new Map<string, Promise<TenantVectors>>()

    async function open(tenant: string): Promise<TenantVectors> {
      const isShared = persist && context.hasSharedStore
      const records = isShared
        ? new VectorLog(storage, (message) => context.log.warn(message))
        : await VectorTable.open(persist, context, tenant)
      return { vectors: new FlatVectors(), records }
    }

    function openOnce(tenant: string): Promise<TenantVectors> {
      const known = tenants.get(tenant)
      if (known) return known
      const opening = open(tenant)
      tenants.set(tenant, opening)
      opening.catch(() => tenants.delete(tenant))
      return opening
    }

    /** Returns the vectors of the run's tenant as they are now. */
    async function read(run: Run): Promise<TenantVectors> {
      run.signal.throwIfAborted()
      const own = await openOnce(run.tenant)
      await own.records.refresh(own.vectors, run)
      return own
    }

    // A file that cannot be opened is a problem of the agent, not of its first run.
    await openOnce('')
    return {
      async add(id, vector, run) {
        const { vectors, records } = await read(run)
        vectors.check(vector)
        await records.insert(id, vector, vectors, run)
      },
      async search(vector, limit, run) {
        const { vectors } = await read(run)
        return vectors.search(vector, limit)
      },
      async remove(id, run) {
        const { vectors, records } = await read(run)
        return records.delete(id, vectors, run)
      },
      async dispose() {
        for (const { records } of await Promise.all(tenants.values())) records.close()
      },
    }
  },
})

interface TenantVectors {
  readonly vectors: FlatVectors
  readonly records: VectorRecords
}
