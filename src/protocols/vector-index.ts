import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/**
 * Finds the nearest of many vectors.
 *
 * @example
 * ```ts
 * export const nearest = defineModule({
 *   name: 'Nearest',
 *   provides: [TextMessageHandler],
 *   uses: { embedder: Embedder, index: VectorIndex, response: Response },
 *   create: ({ embedder, index, response }) => ({
 *     async handleText(text, run) {
 *       const [vector] = await embedder.embed([text], run)
 *       const [found] = vector ? await index.search(vector, 1, run) : []
 *       await response.respondText(found?.id ?? 'Nothing is near.')
 *     },
 *   }),
 * })
 * ```
 */
export interface VectorIndex {
  /** Adds a vector, or replaces the one of the same id. */
  add(id: string, vector: Float32Array, run: Run): Promise<void>
  /** At most `limit` ids, nearest first; `score` is the cosine similarity. */
  search(vector: Float32Array, limit: number, run: Run): Promise<{ id: string; score: number }[]>
  /** False for an unknown id. */
  remove(id: string, run: Run): Promise<boolean>
}
export const VectorIndex = defineProtocol<VectorIndex>('VectorIndex', ['add', 'search', 'remove'])
