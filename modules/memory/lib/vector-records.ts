import type { Run } from 'agent-host'
import type { FlatVectors } from './flat-vectors.ts'

type Awaitable<T> = T | Promise<T>

/** Vectors of an index as they are kept, and a way to keep up with what others write there. */
export interface VectorRecords {
  /** Brings the vectors in memory to what is kept. */
  refresh(vectors: FlatVectors, run: Run): Awaitable<void>
  /** Keeps a vector, and puts it among those in memory. */
  insert(id: string, vector: Float32Array, vectors: FlatVectors, run: Run): Awaitable<void>
  /** Removes a vector, here and there. False for an unknown id. */
  delete(id: string, vectors: FlatVectors, run: Run): Awaitable<boolean>
  close(): void
}
