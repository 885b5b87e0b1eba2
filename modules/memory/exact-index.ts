import { defineModule, Storage, Type, VectorIndex } from 'agent-host'
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
        'Save the vectors: in memory/<agent id>/<module id>.db, or in the store if servers share one. Otherwise they are lost when the agent closes.',
    }),
  }),
  create: async ({ storage }, { persist }, context) => {
    const vectors = new FlatVectors()
    const records: VectorRecords =
      persist && context.hasSharedStore ? new VectorLog(storage) : await VectorTable.open(persist, context)
    return {
      async add(id, vector, run) {
        run.signal.throwIfAborted()
        await records.refresh(vectors, run)
        vectors.check(vector)
        await records.insert(id, vector, vectors, run)
      },
      async search(vector, limit, run) {
        run.signal.throwIfAborted()
        await records.refresh(vectors, run)
        return vectors.search(vector, limit)
      },
      async remove(id, run) {
        run.signal.throwIfAborted()
        await records.refresh(vectors, run)
        return records.delete(id, vectors, run)
      },
      dispose: () => records.close(),
    }
  },
})
