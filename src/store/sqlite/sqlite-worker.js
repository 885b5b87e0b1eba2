// @ts-check
// The thread that holds the database: what waits for the disk, or for a lock, waits here and not where requests are served.
// It is JavaScript because a thread starts without the loader with which the sources run in development.

import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'libsql'

/** @import { SqliteAnswer, SqliteJob, SqliteWorkerData } from './sqlite-job.ts' */
/** @typedef {Extract<SqliteJob, { kind: 'commit' }>} Commit */

/** How long another process may hold the write lock before a commit fails. */
const BUSY_TIMEOUT_MS = 3000
/** How long what was removed may still be in the log. */
const SCRUB_AFTER_MS = 500

const { file, serversDir, serverId } = /** @type {SqliteWorkerData} */ (workerData)
const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
const { db, lock } = start()
const statements = {
  get: db.prepare('SELECT value FROM keyv WHERE key = ?'),
  asc: db.prepare('SELECT key FROM keyv WHERE key >= ? AND key < ? ORDER BY key LIMIT ?').raw(),
  desc: db.prepare('SELECT key FROM keyv WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?').raw(),
  // Not one of the two above with `get`: after `raw` that answers with the row of an earlier question (libsql 0.5.29).
  any: db.prepare('SELECT 1 FROM keyv WHERE key >= ? AND key < ? LIMIT 1'),
  set: db.prepare('INSERT INTO keyv (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value'),
  remove: db.prepare('DELETE FROM keyv WHERE key = ?'),
  begin: db.prepare('BEGIN IMMEDIATE'),
  commit: db.prepare('COMMIT'),
}
/** @type {NodeJS.Timeout | undefined} */
let scrubbing

port.on('message', (/** @type {readonly SqliteJob[]} */ jobs) => {
  /** @type {(SqliteAnswer | undefined)[]} */
  const answers = jobs.map(() => undefined)
  // What was committed before these were asked for is visible to all of them, so no reader has to wait for a writer.
  jobs.forEach((job, index) => {
    if (job.kind !== 'commit') answers[index] = attempt(() => answer(job))
  })
  const commits = jobs.flatMap((job, index) => (job.kind === 'commit' ? [{ job, index }] : []))
  if (commits.length > 0 && commits.length < jobs.length) port.postMessage({ early: answers })
  const results = commitAll(commits.map(({ job }) => job))
  commits.forEach(({ index }, place) => {
    answers[index] = results[place]
  })
  port.postMessage({ answers })
})

port.postMessage({ ready: true })

function start() {
  try {
    return { db: openDatabase(), lock: holdLock() }
  } catch (cause) {
    // An error of libsql loses its message on the way to another thread.
    throw new Error(/** @type {Error} */ (cause).message)
  }
}

/** @returns {Database.Database} */
function openDatabase() {
  const opened = new Database(file)
  opened.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  opened.exec('PRAGMA journal_mode = WAL')
  // FULL: a commit is on the disk before it is answered, so nothing is lost with the power either.
  opened.exec('PRAGMA synchronous = FULL')
  // What is removed is overwritten, in the file too.
  opened.exec('PRAGMA secure_delete = ON')
  // The table of @keyv/sqlite: either reads the other's file.
  opened.exec('CREATE TABLE IF NOT EXISTS keyv (key VARCHAR(255) PRIMARY KEY, value TEXT)')
  return opened
}

/**
 * A lock on a file of this server's own: the system gives it back at whatever instant the process dies.
 *
 * @returns {Database.Database}
 */
function holdLock() {
  mkdirSync(serversDir, { recursive: true, mode: 0o700 })
  const held = new Database(lockFile(serverId))
  held.exec('BEGIN EXCLUSIVE')
  for (const name of readdirSync(serversDir)) {
    const id = name.replace(/\.lock$/, '')
    if (name.endsWith('.lock') && id !== serverId && !isAlive(id)) rmSync(join(serversDir, name), { force: true })
  }
  return held
}

/** @param {string} id */
function lockFile(id) {
  return join(serversDir, `${id}.lock`)
}

/**
 * @param {string} id
 * @returns {boolean} whether the server of that name holds its lock
 */
function isAlive(id) {
  // Opening would make it.
  if (!readdirSync(serversDir).includes(`${id}.lock`)) return false
  const probe = new Database(lockFile(id))
  try {
    probe.exec('PRAGMA busy_timeout = 0')
    probe.exec('BEGIN EXCLUSIVE')
    probe.exec('ROLLBACK')
    return false
  } catch {
    return true
  } finally {
    probe.close()
  }
}

/**
 * @param {() => unknown} work
 * @returns {SqliteAnswer}
 */
function attempt(work) {
  try {
    return { value: work() }
  } catch (error) {
    const { message, code = '' } = /** @type {{ message: string, code?: string }} */ (error)
    return { error: message, code }
  }
}

/**
 * @param {Exclude<SqliteJob, Commit>} job
 * @returns {unknown}
 */
function answer(job) {
  switch (job.kind) {
    case 'get':
      return job.keys.map((key) => /** @type {{ value: string } | undefined} */ (statements.get.get([key]))?.value)
    case 'list':
      return /** @type {string[][]} */ (statements[job.order].all([job.from, job.to, job.limit])).map(([key]) => key)
    case 'clear':
      return void db.exec('DELETE FROM keyv')
    case 'purge':
      return purge()
    case 'is-alive':
      return isAlive(job.serverId)
    case 'close':
      return close()
  }
}

/**
 * All in one transaction. When that fails each gets one of its own, so that none fails for another's sake.
 *
 * @param {readonly Commit[]} commits
 * @returns {SqliteAnswer[]}
 */
function commitAll(commits) {
  if (commits.length === 0) return []
  const together = attempt(() => inTransaction(() => commits.map(apply)))
  if ('value' in together) return /** @type {boolean[]} */ (together.value).map((value) => ({ value }))
  // The lock is another's: each would wait for it just as long.
  if (commits.length === 1 || together.code === 'SQLITE_BUSY') return commits.map(() => together)
  return commits.map((commit) => attempt(() => inTransaction(() => apply(commit))))
}

/**
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
function inTransaction(work) {
  statements.begin.run()
  try {
    const result = work()
    statements.commit.run()
    return result
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/**
 * @param {Commit} commit
 * @returns {boolean} false when a guard does not hold
 */
function apply({ changes, present, absent }) {
  for (const key of present) if (!statements.get.get([key])) return false
  for (let index = 0; index < absent.length; index += 2) {
    if (statements.any.get([absent[index], absent[index + 1]])) return false
  }
  for (let index = 0; index < changes.length; index += 2) {
    const value = changes[index + 1]
    if (value === null) remove(/** @type {string} */ (changes[index]))
    else statements.set.run([changes[index], value])
  }
  return true
}

/** @param {string} key */
function remove(key) {
  statements.remove.run([key])
  scrubSoon()
}

function scrubSoon() {
  scrubbing ??= setTimeout(() => attempt(purge), SCRUB_AFTER_MS)
}

/** The log keeps what was written to it until it is emptied. While another process reads it, that has to wait. */
function purge() {
  stopScrubbing()
  let isDone = false
  db.exec('PRAGMA busy_timeout = 0')
  try {
    const [{ busy }] = /** @type {[{ busy: number }]} */ (db.pragma('wal_checkpoint(TRUNCATE)'))
    isDone = busy === 0
  } finally {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    if (!isDone) scrubSoon()
  }
}

function stopScrubbing() {
  clearTimeout(scrubbing)
  scrubbing = undefined
}

function close() {
  attempt(purge)
  stopScrubbing()
  db.close()
  lock.close()
  rmSync(lockFile(serverId), { force: true })
}
