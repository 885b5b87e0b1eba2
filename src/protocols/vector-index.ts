import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** Finds the nearest of many vectors. */
export interface VectorIndex {
  /** Adds a vector, or replaces the one of the same id. */
  add(id: string, vector: Float32Array, run: Run): Promise<void>
  /** At most `limit` ids, nearest first; `score` is the cosine similarity. */
  search(vector: Float32Array, limit: number, run: Run): Promise<{ id: string; score: number }[]>
  /** False for an unknown id. */
  remove(id: string, run: Run): Promise<boolean>
}
export const VectorIndex = defineProtocol<VectorIndex>('VectorIndex', ['add', 'search', 'remove'])
