import { randomUUID } from 'node:crypto'
import type { MemoryEntry, Run } from 'agent-host'

type Awaitable<T> = T | Promise<T>

/** Entries of a memory, and which vectors lead to them. Each change is whole or absent. Entries of another owner are not there. */
export interface Entries {
  insert(entry: MemoryEntry, owner: string, vectorIds: readonly string[], run: Run): Awaitable<void>
  /** Answers the vectors that lead there no more; `undefined` for an unknown id, and nothing is changed. */
  update(
    entry: MemoryEntry,
    owner: string,
    vectorIds: readonly string[],
    run: Run,
  ): Awaitable<readonly string[] | undefined>
  /** Answers the vectors that led there; `undefined` for an unknown id. */
  delete(id: string, owner: string, run: Run): Awaitable<readonly string[] | undefined>
  get(id: string, owner: string, run: Run): Awaitable<MemoryEntry | undefined>
  /** Oldest first. */
  list(owner: string, run: Run): Awaitable<MemoryEntry[]>
  /** The entry of a vector: {@link vectorIdFor} built its id. */
  find(vectorId: string, owner: string, run: Run): Awaitable<MemoryEntry | undefined>
  close(): void
}

/** Returns a function that makes ids which sort by time: UUIDs of version 7 (RFC 9562, section 5.7). */
export function makeIds(now: () => number = Date.now): () => string {
  let lastMs = 0
  return () => {
    lastMs = Math.max(now(), lastMs + 1)
    const time = lastMs.toString(16).padStart(12, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
  }
}

export function vectorIdFor(entryId: string): string {
  return `${entryId}.${randomUUID()}`
}

/** Returns the id of the entry that a vector belongs to. */
export function entryIdOf(vectorId: string): string {
  return vectorId.slice(0, vectorId.lastIndexOf('.'))
}
