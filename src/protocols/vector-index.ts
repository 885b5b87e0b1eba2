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
  /**
   * Adds a vector, or replaces the one of the same id.
   *
   * @remarks A memory calls it once for each piece of a text that it stores.
   * @throws unknown fails the call of the memory; the text is not stored
   */
  add(id: string, vector: Float32Array, run: Run): Promise<void>
  /**
   * Returns at most `limit` ids, nearest first; `score` is the cosine similarity.
   *
   * @remarks A memory calls it for each search, again with a larger limit where too many hits belong to other users.
   * @throws unknown fails the call of the memory
   */
  search(vector: Float32Array, limit: number, run: Run): Promise<{ id: string; score: number }[]>
  /**
   * Removes a vector. Returns false for an unknown id.
   *
   * @remarks A memory calls it when a text changes or is deleted. A failure is a warning: nothing finds the vector any more.
   */
  remove(id: string, run: Run): Promise<boolean>
}
export const VectorIndex = defineProtocol<VectorIndex>('VectorIndex', ['add', 'search', 'remove'])
