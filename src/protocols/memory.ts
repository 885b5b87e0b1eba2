import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** Something remembered. */
export interface MemoryEntry {
  readonly id: string
  readonly text: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** An entry that was found, with its similarity (higher is nearer). */
export interface MemoryMatch extends MemoryEntry {
  readonly score: number
}

/**
 * Remembers texts, and finds them again by meaning.
 *
 * @example
 * ```ts
 * export const noter = defineModule({
 *   name: 'Noter',
 *   provides: [TextMessageHandler],
 *   uses: { memory: Memory, response: Response },
 *   create: ({ memory, response }) => ({
 *     async handleText(text, run) {
 *       const id = await memory.store(text, { source: 'user' }, run)
 *       await response.respondText(`Remembered as ${id}.`)
 *     },
 *   }),
 * })
 * ```
 */
export interface Memory {
  /** Remembers `text`; answers the id of the new entry. */
  store(text: string, metadata: Readonly<Record<string, unknown>>, run: Run): Promise<string>
  /** `undefined` for an unknown id. */
  get(id: string, run: Run): Promise<MemoryEntry | undefined>
  /** At most `limit` entries, nearest first. */
  search(query: string, limit: number, run: Run): Promise<MemoryMatch[]>
  /** Every entry, oldest first. */
  list(run: Run): Promise<MemoryEntry[]>
  /** False for an unknown id. */
  update(id: string, text: string, metadata: Readonly<Record<string, unknown>>, run: Run): Promise<boolean>
  /** False for an unknown id. */
  delete(id: string, run: Run): Promise<boolean>
}
export const Memory = defineProtocol<Memory>('Memory', ['store', 'get', 'search', 'list', 'update', 'delete'])
