import type { MemoryEntry } from 'agent-host'
import type Database from 'libsql'
import type { Entries } from './entries.ts'

export const ENTRY_SCHEMA = `
CREATE TABLE IF NOT EXISTS entries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, text TEXT NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pieces (vector_id TEXT PRIMARY KEY, entry_id TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS pieces_of_entry ON pieces (entry_id)`

interface Row {
  readonly id: string
  readonly text: string
  readonly metadata: string
}

/** Entries, and which vectors lead to them. Each change is one transaction. Entries of another owner are not there. */
export class EntryTable implements Entries {
  readonly #database: Database.Database
  readonly #statements = new Map<string, Database.Statement>()

  constructor(database: Database.Database) {
    this.#database = database
  }

  insert({ id, text, metadata }: MemoryEntry, owner: string, vectorIds: readonly string[]): void {
    this.#together(() => {
      this.#run(
        'INSERT INTO entries (id, owner, text, metadata) VALUES (?, ?, ?, ?)',
        id,
        owner,
        text,
        toJson(metadata),
      )
      this.#link(id, vectorIds)
    })
  }

  update({ id, text, metadata }: MemoryEntry, owner: string, vectorIds: readonly string[]): string[] | undefined {
    return this.#together(() => {
      if (!this.get(id, owner)) return undefined
      this.#run('UPDATE entries SET text = ?, metadata = ? WHERE id = ?', text, toJson(metadata), id)
      const old = this.#unlink(id)
      this.#link(id, vectorIds)
      return old
    })
  }

  delete(id: string, owner: string): string[] | undefined {
    return this.#together(() => {
      if (!this.get(id, owner)) return undefined
      this.#run('DELETE FROM entries WHERE id = ?', id)
      return this.#unlink(id)
    })
  }

  get(id: string, owner: string): MemoryEntry | undefined {
    const sql = 'SELECT id, text, metadata FROM entries WHERE id = ? AND owner = ?'
    return this.#rows<Row>(sql, id, owner).map(toEntry)[0]
  }

  list(owner: string): MemoryEntry[] {
    return this.#rows<Row>('SELECT id, text, metadata FROM entries WHERE owner = ? ORDER BY seq', owner).map(toEntry)
  }

  find(vectorId: string, owner: string): MemoryEntry | undefined {
    const sql = `SELECT id, text, metadata FROM pieces JOIN entries ON entries.id = pieces.entry_id
      WHERE vector_id = ? AND owner = ?`
    return this.#rows<Row>(sql, vectorId, owner).map(toEntry)[0]
  }

  close(): void {
    this.#database.close()
  }

  #link(id: string, vectorIds: readonly string[]): void {
    for (const vectorId of vectorIds) this.#run('INSERT INTO pieces (vector_id, entry_id) VALUES (?, ?)', vectorId, id)
  }

  #unlink(id: string): string[] {
    const rows = this.#rows<{ vector_id: string }>('SELECT vector_id FROM pieces WHERE entry_id = ?', id)
    this.#run('DELETE FROM pieces WHERE entry_id = ?', id)
    return rows.map(({ vector_id }) => vector_id)
  }

  #together<T>(work: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  #run(sql: string, ...values: string[]): void {
    this.#prepare(sql).run(...values)
  }

  #rows<R>(sql: string, ...values: string[]): R[] {
    return this.#prepare(sql).all(...values) as R[]
  }

  #prepare(sql: string): Database.Statement {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

function toJson(metadata: MemoryEntry['metadata']): string {
  return JSON.stringify(metadata)
}

function toEntry({ id, text, metadata }: Row): MemoryEntry {
  return { id, text, metadata: JSON.parse(metadata) }
}
