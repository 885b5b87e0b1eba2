import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/**
 * Turns texts into vectors.
 *
 * @example
 * ```ts
 * export const lengths = defineModule({
 *   name: 'Lengths',
 *   provides: [Embedder],
 *   create: () => ({ embed: async (texts) => texts.map((text) => Float32Array.of(text.length, 1)) }),
 * })
 * ```
 */
export interface Embedder {
  /**
   * Returns one vector for each text, in their order, all of one length.
   *
   * @remarks A memory calls it once for each text that it stores (with all its pieces), and once for each search (with the query alone).
   * @throws unknown fails the call of the memory. Errors name the model, never the key
   */
  embed(texts: readonly string[], run: Run): Promise<Float32Array[]>
}
export const Embedder = defineProtocol<Embedder>('Embedder', ['embed'])
