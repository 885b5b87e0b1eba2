import type { Run } from 'agent-host'
import type { FlatVectors } from './flat-vectors.ts'

type Awaitable<T> = T | Promise<T>

/** Stored vectors of an index, and a way to pick up changes of others. */
export interface VectorRecords {
  /** Updates the vectors in memory from the store. */
  refresh(vectors: FlatVectors, run: Run): Awaitable<void>
  /** Keeps a vector, and puts it among those in memory. */
  insert(id: string, vector: Float32Array, vectors: FlatVectors, run: Run): Awaitable<void>
  /** Removes a vector, here and there. False for an unknown id. */
  delete(id: string, vectors: FlatVectors, run: Run): Awaitable<boolean>
  close(): void
}
