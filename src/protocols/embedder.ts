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
  /** One vector a text, in their order, all of one length. */
  embed(texts: readonly string[], run: Run): Promise<Float32Array[]>
}
export const Embedder = defineProtocol<Embedder>('Embedder', ['embed'])
