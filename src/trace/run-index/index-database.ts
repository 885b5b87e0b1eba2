import { rmSync, truncateSync } from 'node:fs'
import Database from 'libsql'
import { touchFile } from '../files/trace-files.ts'
import { FACT_COLUMNS } from '../run-columns.ts'

/** Version of the tables below: an index of another version is rebuilt from the files. */
const VERSION = 17
const SCHEMA = `
CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, name TEXT NOT NULL, inode INTEGER NOT NULL, indexed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
  change INTEGER PRIMARY KEY AUTOINCREMENT, ${FACT_COLUMNS},
  file INTEGER NOT NULL, steps TEXT NOT NULL, stats TEXT NOT NULL, tools TEXT NOT NULL, places TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (started_at, run_id);
CREATE INDEX IF NOT EXISTS runs_by_agent ON runs (agent_id, started_at, run_id);
CREATE INDEX IF NOT EXISTS runs_of_tenant ON runs (tenant, started_at, run_id) WHERE tenant <> '';
CREATE INDEX IF NOT EXISTS runs_of_tenant_by_agent ON runs (tenant, agent_id, started_at, run_id) WHERE tenant <> '';
CREATE INDEX IF NOT EXISTS runs_by_continued ON runs (continues, started_at) WHERE continues IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_by_expiry ON runs (expires_at) WHERE status = 'waiting' AND expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_by_parent ON runs (parent_run_id, started_at) WHERE parent_run_id IS NOT NULL;
`

/**
 * Opens the database of the index, or makes it, for the owner alone.
 *
 * @param mayRemake true rebuilds an unusable index from the trace files
 */
export function openIndexDatabase(path: string, mayRemake: boolean): Database.Database {
  try {
    return openIndex(path)
  } catch (error) {
    if (!mayRemake) throw error
    removeIndex(path)
    return openIndex(path)
  }
}

/** Removes the database of an index. */
export function removeIndex(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
}

/** True for an error that says that the file is no database any more, as it may be after a loss of power. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DAMAGE.has(error.code)
}

const DAMAGE = new Set<unknown>(['SQLITE_CORRUPT', 'SQLITE_NOTADB'])

function openIndex(path: string): Database.Database {
  touchFile(path)
  const db = new Database(path)
  db.exec('PRAGMA busy_timeout = 3000')
  db.exec('PRAGMA journal_mode = WAL')
  // What is lost with the power is read again from the files.
  db.exec('PRAGMA synchronous = OFF')
  const { user_version: version } = db.prepare('PRAGMA user_version').get([]) as { user_version: number }
  if (version === VERSION) return db
  if (version !== 0) {
    db.close()
    throw new Error(`The index has version ${version}.`)
  }
  db.exec('BEGIN IMMEDIATE')
  db.exec(SCHEMA)
  db.exec(`PRAGMA user_version = ${VERSION}`)
  db.exec('COMMIT')
  return db
}

/** Lock on a file, which the system releases when its holder dies; undefined while another process holds it. */
export function tryLock(path: string): Database.Database | undefined {
  touchFile(path)
  const lock = new Database(path)
  try {
    lock.exec('PRAGMA busy_timeout = 0')
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    // Something else has written into it: it would be held for ever. The next one to ask gets it.
    if (isDamage(error)) truncateSync(path)
    return undefined
  }
}
