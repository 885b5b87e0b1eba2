import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type ModuleContext, messageOf } from 'agent-host'
import type Database from 'libsql'
import type { FlatVectors } from './flat-vectors.ts'
import type { VectorRecords } from './vector-records.ts'

const SCHEMA = `CREATE TABLE IF NOT EXISTS vectors (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, vector BLOB NOT NULL)`

/** After so many vectors that are loaded others get their turn. */
const TURN = 500

/** The vectors of a file, and a way to pick up changes of others. */
export class VectorTable implements VectorRecords {
  readonly #database: Database.Database
  readonly #insert: Database.Statement
  readonly #delete: Database.Statement
  readonly #version: Database.Statement
  readonly #warn: (message: string) => void
  /** Number in the file of every vector in memory. A replaced one gets a new number. */
  readonly #numbers = new Map<string, number>()
  #seen: number | undefined

  /**
   * Opens the module's file in the project: a write is there whole, or not at all, at whatever instant the process
   * dies, and several processes may share it.
   *
   * @param persist false for vectors that are only in memory
   * @param tenant whose vectors they are: each has a file of its own
   */
  static async open(
    persist: boolean,
    { projectDir, agentId, moduleId, log }: ModuleContext,
    tenant: string,
  ): Promise<VectorTable> {
    const path = persist ? join(projectDir, 'memory', agentId, folderOf(tenant), `${moduleId}.db`) : ':memory:'
    try {
      if (persist) await mkdir(dirname(path), { recursive: true })
      return new VectorTable(await openDatabase(path), (message) => log.warn(`${path}: ${message}`))
    } catch (cause) {
      throw new Error(`The file ${path} cannot be opened: ${messageOf(cause)}`, { cause })
    }
  }

  private constructor(database: Database.Database, warn: (message: string) => void) {
    this.#database = database
    this.#warn = warn
    this.#insert = database.prepare('INSERT OR REPLACE INTO vectors (id, vector) VALUES (?, ?)')
    this.#delete = database.prepare('DELETE FROM vectors WHERE id = ?')
    // Changes when another connection has written, one of this process included.
    this.#version = database.prepare('PRAGMA data_version')
  }

  /** Updates the vectors in memory from the file. Nearly free if no other process has written. */
  async refresh(vectors: FlatVectors): Promise<void> {
    const { data_version } = this.#version.get() as { data_version: number }
    if (data_version === this.#seen) return
    const rows = this.#database.prepare('SELECT id, seq FROM vectors').all() as { id: string; seq: number }[]
    const present = new Set(rows.map(({ id }) => id))
    for (const id of [...vectors.ids()]) if (!present.has(id)) this.#forget(id, vectors)
    const load = this.#database.prepare('SELECT vector FROM vectors WHERE seq = ?')
    let loaded = 0
    for (const { id, seq } of rows) {
      if (this.#numbers.get(id) === seq) continue
      if (++loaded % TURN === 0) await setImmediate()
      const row = load.get(seq) as { vector: ArrayBuffer | Uint8Array } | undefined
      // It was replaced, or removed, since.
      if (!row) continue
      this.#numbers.set(id, seq)
      try {
        vectors.set(id, new Float32Array(new Uint8Array(row.vector).slice().buffer))
      } catch (error) {
        // Nor does the vector that it replaces stay.
        vectors.delete(id)
        this.#warn(`The vector '${id}' is left out: ${messageOf(error)}`)
      }
    }
    this.#seen = data_version
  }

  insert(id: string, vector: Float32Array, vectors: FlatVectors): void {
    const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
    const { lastInsertRowid } = this.#change(() => this.#insert.run(id, bytes))
    this.#numbers.set(id, Number(lastInsertRowid))
    vectors.set(id, vector)
  }

  delete(id: string, vectors: FlatVectors): boolean {
    this.#change(() => this.#delete.run(id))
    this.#numbers.delete(id)
    return vectors.delete(id)
  }

  close(): void {
    this.#database.close()
  }

  /** In a transaction: a prepared statement that the lock of another process stops has all reads after it see an old state (libsql 0.5.29). */
  #change<T>(change: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const result = change()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  #forget(id: string, vectors: FlatVectors): void {
    vectors.delete(id)
    this.#numbers.delete(id)
  }
}

/** Names of tenants may differ only in case, and file systems may not tell them apart. */
function folderOf(tenant: string): string {
  const name = encodeURIComponent(tenant).replace(/[A-Z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
  return tenant === '' ? '' : `@${name}`
}

async function openDatabase(path: string): Promise<Database.Database> {
  // Loaded here: it takes a while, and most agents never need it.
  const { default: Database } = await import('libsql')
  const database = new Database(path)
  // How long another process may hold the write lock before this one gives up.
  database.exec('PRAGMA busy_timeout = 3000')
  database.exec('PRAGMA journal_mode = WAL')
  // Safe against a process that dies. Only with the power the last moments may be lost, never a part of one.
  database.exec('PRAGMA synchronous = NORMAL')
  // What is forgotten is overwritten, in the file too.
  database.exec('PRAGMA secure_delete = ON')
  database.exec(SCHEMA)
  return database
}
