import { defineProtocol, type Protocol } from './protocol.ts'
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

/** User with separate entries. */
export interface MemoryOwner {
  /** As the client names it; empty for requests without a user. */
  readonly user: string
  /** Number of its entries. */
  readonly count: number
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
  /** Lists the users that it keeps separate entries for, by name. Optional: a memory that does not keep users apart leaves it out. */
  owners?(run: Run): Promise<readonly MemoryOwner[]>
}
export const Memory = defineProtocol<Memory>('Memory', ['store', 'get', 'search', 'list', 'update', 'delete'])
/** The same with the optional method, for the host's own questions. */
export const MemoryWithOwners: Protocol<Memory> = { ...Memory, methods: [...Memory.methods, 'owners'] }
