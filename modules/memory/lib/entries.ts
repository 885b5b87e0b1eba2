import { hash } from 'node:crypto'
import type { MemoryEntry, Run, Storage } from 'agent-host'
import { entryIdOf, USER } from './ids.ts'

const ENTRIES = 'entries/'
const PAGE = 500

interface Row {
  readonly text: string
  readonly metadata: MemoryEntry['metadata']
  /** Vectors that lead to the entry. */
  readonly vectors: readonly string[]
  /** By this name the host finds what is stored for a user. Left out by earlier versions. */
  readonly user?: string
}

/** Entries of a memory, and which vectors lead to them: one record each. Entries of another owner are not there. */
export class Entries {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async insert(entry: MemoryEntry, owner: string, vectorIds: readonly string[], run: Run): Promise<void> {
    await this.#storage.set(keyOf(entry.id, owner), toRow(entry, owner, vectorIds), run)
  }

  /** Returns the vectors that lead there no more; `undefined` for an unknown id, and nothing is changed. */
  update(entry: MemoryEntry, owner: string, vectorIds: readonly string[], run: Run) {
    return this.#replace(entry.id, owner, toRow(entry, owner, vectorIds), run)
  }

  /** Returns the vectors that led there; `undefined` for an unknown id. */
  delete(id: string, owner: string, run: Run) {
    return this.#replace(id, owner, undefined, run)
  }

  async get(id: string, owner: string, run: Run): Promise<MemoryEntry | undefined> {
    const row = await this.#read(id, owner, run)
    return row && toEntry(id, row)
  }

  /** Returns all entries of the owner, oldest first. */
  async list(owner: string, run: Run): Promise<MemoryEntry[]> {
    const entries: MemoryEntry[] = []
    const prefix = keyOf('', owner)
    for await (const { key, value } of this.#rows(prefix, run)) entries.push(toEntry(key.slice(prefix.length), value))
    return entries
  }

  /** Returns the owners that have entries, with their numbers. */
  async owners(run: Run): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    for await (const { key, value } of this.#rows(ENTRIES, run)) {
      const owner = value.user === undefined ? '' : USER + value.user
      // Earlier versions did not name the owner.
      if (key.startsWith(keyOf('', owner))) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    }
    return counts
  }

  async *#rows(prefix: string, run: Run): AsyncGenerator<{ key: string; value: Row }> {
    for (let after: string | undefined; ; ) {
      const page = await this.#storage.list({ prefix, limit: PAGE, after }, run)
      yield* page as { key: string; value: Row }[]
      after = page.at(-1)?.key
      if (page.length < PAGE) return
    }
  }

  /** Returns the entry that a vector leads to. */
  async find(vectorId: string, owner: string, run: Run): Promise<MemoryEntry | undefined> {
    const id = entryIdOf(vectorId)
    const row = await this.#read(id, owner, run)
    return row?.vectors.includes(vectorId) ? toEntry(id, row) : undefined
  }

  async #replace(id: string, owner: string, row: Row | undefined, run: Run): Promise<readonly string[] | undefined> {
    for (;;) {
      const old = await this.#read(id, owner, run)
      if (!old) return undefined
      // Otherwise another call has changed it since.
      if (await this.#storage.replace(keyOf(id, owner), old, row, run)) return old.vectors
    }
  }

  async #read(id: string, owner: string, run: Run): Promise<Row | undefined> {
    return isId(id) ? ((await this.#storage.get(keyOf(id, owner), run)) as Row | undefined) : undefined
  }
}

/** Ids come from models, too: none but those that were given out can be keys. */
function isId(id: string): boolean {
  return /^[\da-f-]{36}$/.test(id)
}

/** Callers name the owner: its name is not part of the key. */
function keyOf(id: string, owner: string): string {
  return `${ENTRIES}${hash('sha256', owner)}/${id}`
}

function toRow({ text, metadata }: MemoryEntry, owner: string, vectors: readonly string[]): Row {
  return { text, metadata, vectors, ...(owner.startsWith(USER) ? { user: owner.slice(USER.length) } : {}) }
}

function toEntry(id: string, { text, metadata }: Row): MemoryEntry {
  return { id, text, metadata }
}
