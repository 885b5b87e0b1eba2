import { defineModule, Type, VectorIndex } from 'agent-host'
import { FlatVectors } from './lib/flat-vectors.ts'
import { openDatabase, storage } from './lib/open-database.ts'
import { VECTOR_SCHEMA, VectorTable } from './lib/vector-table.ts'

export default defineModule({
  name: 'ExactIndex',
  description: 'Finds the nearest vectors by looking at all of them; kept in a file.',
  provides: [VectorIndex],
  scope: 'agent',
  config: Type.Object(storage),
  create: async (_, config, context) => {
    const vectors = new FlatVectors()
    const table = new VectorTable(await openDatabase(config, VECTOR_SCHEMA, context))
    table.refresh(vectors)
    return {
      async add(id, vector, run) {
        run.signal.throwIfAborted()
        table.refresh(vectors)
        vectors.check(vector)
        table.insert(id, vector)
        vectors.set(id, vector)
      },
      async search(vector, limit, run) {
        run.signal.throwIfAborted()
        table.refresh(vectors)
        return vectors.search(vector, limit)
      },
      async remove(id, run) {
        run.signal.throwIfAborted()
        table.refresh(vectors)
        table.delete(id)
        return vectors.delete(id)
      },
      dispose: () => table.close(),
    }
  },
})
