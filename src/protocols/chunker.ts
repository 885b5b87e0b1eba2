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
  /** In the order of the text. */
  chunk(text: string, run: Run): Promise<string[]>
}
export const Chunker = defineProtocol<Chunker>('Chunker', ['chunk'])
