import { join } from 'node:path'
import Database from 'libsql'
import { RunIds } from '../src/durable/runs/run-ids.ts'

const PREFIX = 'resp_'
const SAMPLES = 1000
const BATCH = 10_000

/**
 * Fills the store of a project up to a number of responses, as copies of one that is there. No server may run.
 *
 * @returns ids of some, from all of them
 */
export function generateResponses(project: string, total: number): string[] {
  const db = new Database(join(project, 'responses', 'responses.db'))
  db.exec('PRAGMA synchronous = OFF')
  const stored = idsOf(db, total)
  const [original = ''] = stored
  const rows = db
    .prepare('SELECT key, value FROM keyv WHERE key IN (?, ?)')
    .all([`keyv:response:${original}`, `keyv:turn:${original}`]) as { key: string; value: string }[]
  const insert = db.prepare('INSERT INTO keyv (key, value) VALUES (?, ?)')
  const ids = new RunIds(PREFIX)
  const added = Array.from({ length: Math.max(total - stored.length, 0) }, () => ids.next())
  for (let start = 0; start < added.length; start += BATCH) {
    db.exec('BEGIN')
    for (const id of added.slice(start, start + BATCH)) {
      for (const { key, value } of rows) insert.run([key.replace(original, id), value.replaceAll(original, id)])
    }
    db.exec('COMMIT')
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const all = [...stored, ...added]
  return Array.from({ length: SAMPLES }, () => all[Math.floor(Math.random() * all.length)] as string)
}

function idsOf(db: Database.Database, limit: number): string[] {
  const keys = db
    .prepare("SELECT key FROM keyv WHERE key >= 'keyv:response:' AND key < 'keyv:response;' ORDER BY key LIMIT ?")
    .all([limit]) as { key: string }[]
  return keys.map(({ key }) => key.slice('keyv:response:'.length))
}
