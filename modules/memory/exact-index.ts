import { defineModule, optional, Storage, Type, VectorIndex } from 'agent-host'
import { FlatVectors } from './lib/flat-vectors.ts'
import { openDatabase, storageConfig } from './lib/open-database.ts'
import { sharedStorage } from './lib/shared-storage.ts'
import { VectorLog } from './lib/vector-log.ts'
import type { VectorRecords } from './lib/vector-records.ts'
import { VECTOR_SCHEMA, VectorTable } from './lib/vector-table.ts'

export default defineModule({
  name: 'ExactIndex',
  description: 'Finds the nearest vectors by comparing all of them; saved in a file, or in a store that servers share.',
  provides: [VectorIndex],
  uses: { storage: optional(Storage) },
  scope: 'agent',
  config: Type.Object(storageConfig),
  create: async ({ storage }, config, context) => {
    const vectors = new FlatVectors()
    const shared = sharedStorage(storage, config, context)
    const records: VectorRecords = shared
      ? new VectorLog(shared)
      : new VectorTable(await openDatabase(config, VECTOR_SCHEMA, context))
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
