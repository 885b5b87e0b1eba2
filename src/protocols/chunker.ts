import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/**
 * Cuts a text into pieces that can be embedded.
 *
 * @example
 * ```ts
 * export const paragraphs = defineModule({
 *   name: 'Paragraphs',
 *   provides: [Chunker],
 *   create: () => ({ chunk: async (text) => text.split(/\n{2,}/) }),
 * })
 * ```
 */
export interface Chunker {
  /**
   * Returns the pieces, in the order of the text.
   *
   * @remarks A memory calls it once for each text that it stores or updates.
   * @throws unknown fails the call of the memory; the text is not stored
   */
  chunk(text: string, run: Run): Promise<string[]>
}
export const Chunker = defineProtocol<Chunker>('Chunker', ['chunk'])
