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
  /**
   * Remembers a text. Returns the id of the new entry.
   *
   * @remarks `tools/memory` calls the methods of a memory when a model calls its tools; your own modules call them when they like.
   * @throws unknown fails the call of the tool: the model reads the message
   */
  store(text: string, metadata: Readonly<Record<string, unknown>>, run: Run): Promise<string>
  /** Returns an entry; `undefined` for an unknown id. */
  get(id: string, run: Run): Promise<MemoryEntry | undefined>
  /** Returns at most `limit` entries, nearest first. */
  search(query: string, limit: number, run: Run): Promise<MemoryMatch[]>
  /**
   * Returns every entry, oldest first.
   *
   * @remarks The debug UI and clients of MCP call it, too, where the agent exposes its memory.
   */
  list(run: Run): Promise<MemoryEntry[]>
  /** Replaces an entry. Returns false for an unknown id. */
  update(id: string, text: string, metadata: Readonly<Record<string, unknown>>, run: Run): Promise<boolean>
  /** Forgets an entry. Returns false for an unknown id. */
  delete(id: string, run: Run): Promise<boolean>
  /**
   * Returns the users that it keeps separate entries for, by name. Optional: a memory that does not keep users apart leaves it out.
   *
   * @remarks The debug UI calls it to list them.
   */
  owners?(run: Run): Promise<readonly MemoryOwner[]>
}
export const Memory = defineProtocol<Memory>(
  'Memory',
  ['store', 'get', 'search', 'list', 'update', 'delete'],
  ['owners'],
)
