// @ts-check
// The thread that holds the database: waiting for the disk or a lock happens here, and not where requests are served.
// It is JavaScript because a thread starts without the loader with which the sources run in development.

import { statSync, watch as watchFile } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'libsql'
import { monotonicMs } from './monotonic-ms.js'

/** @import { SqliteAnswer, SqliteJob, SqliteWorkerData } from './sqlite-job.ts' */
/** @typedef {Extract<SqliteJob, { kind: 'commit' }>} Commit */

/** Time that another process may hold the write lock before a commit fails. */
const BUSY_TIMEOUT_MS = 3000
/** Time that a heartbeat waits for the lock: reads wait as long. */
const BEAT_TIMEOUT_MS = 500
/** Time that removed data may still be in the log. */
const PURGE_AFTER_MS = 500
/** Time after a look for commits of other processes before the next one. */
const WATCH_INTERVAL_MS = 20
/** Interval of looks without a sign: a file system need not report what another process writes. */
const IDLE_INTERVAL_MS = 250
/** Servers that gave no sign of life for longer are forgotten. */
const FORGET_AFTER_MS = 24 * 60 * 60 * 1000
/**
 * One a step; the number of steps done is the `user_version` of the file. They only add, so that a server of an earlier
 * version can go on with the file.
 */
const MIGRATIONS = [
  // The table of @keyv/sqlite: either reads the other's file.
  { title: 'table of records', sql: 'CREATE TABLE IF NOT EXISTS keyv (key VARCHAR(255) PRIMARY KEY, value TEXT)' },
  {
    title: 'table of servers',
    sql: 'CREATE TABLE servers (id TEXT PRIMARY KEY, process TEXT, seen_ms INTEGER) WITHOUT ROWID',
  },
]
/** Text of Keyv for a value, put together by SQLite: in JavaScript it would be another copy of a large text. */
const KEYV_TEXT = `'{"value":' || ? || '}'`
/** Milliseconds by the clock of the machine that has the file. */
const NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"

const { file, inode, isDryRun = false } = /** @type {SqliteWorkerData} */ (workerData)
const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
if (isDryRun) withMessage(tellPending)
const db = start()
const statements = {
  get: db.prepare('SELECT value FROM keyv WHERE key = ?'),
  asc: db.prepare('SELECT key FROM keyv WHERE key >= ? AND key < ? ORDER BY key LIMIT ?').raw(),
  desc: db.prepare('SELECT key FROM keyv WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?').raw(),
  entriesAsc: db.prepare('SELECT key, value FROM keyv WHERE key >= ? AND key < ? ORDER BY key LIMIT ?').raw(),
  entriesDesc: db.prepare('SELECT key, value FROM keyv WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?').raw(),
  // Not one of the two above with `get`: after `raw` that answers with the row of an earlier question (libsql 0.5.29).
  any: db.prepare('SELECT 1 FROM keyv WHERE key >= ? AND key < ? LIMIT 1'),
  set: db.prepare(
    `INSERT INTO keyv (key, value) VALUES (?, ${KEYV_TEXT}) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  ),
  remove: db.prepare('DELETE FROM keyv WHERE key = ?'),
  equals: db.prepare(`SELECT 1 FROM keyv WHERE key = ? AND value = ${KEYV_TEXT}`),
  beat: db.prepare(
    `INSERT INTO servers VALUES (?, ?, ${NOW_MS}) ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms`,
  ),
  forget: db.prepare(`DELETE FROM servers WHERE id = ? AND seen_ms < ${NOW_MS} - ${FORGET_AFTER_MS}`),
  version: db.prepare('PRAGMA data_version').raw(),
  sighting: db.prepare('SELECT id, process, seen_ms AS sign FROM servers WHERE id = ?'),
  sightings: db.prepare('SELECT id, process, seen_ms AS sign FROM servers'),
  leave: db.prepare('DELETE FROM servers WHERE id = ?'),
}
/** @type {NodeJS.Timeout | undefined} */
let purging
/** @type {(() => void) | undefined} */
let unwatch
/** Kept while nobody watches: a commit that comes before a watch has begun is noticed at its first look. */
let lastVersion = dataVersion()

port.on('message', (/** @type {readonly SqliteJob[]} */ jobs) => {
  /** @type {(SqliteAnswer | undefined)[]} */
  const answers = []
  /** @type {Commit[]} */
  const commits = []
  // Every commit before these requests is visible to all of them, so no reader has to wait for a writer.
  for (const job of jobs) {
    const answer = answerEarly(job)
    answers.push(answer)
    if (job.kind === 'commit' && !answer) commits.push(job)
  }
  const isMixed = commits.length > 0 && commits.length < jobs.length
  if (isMixed) port.postMessage({ early: unlessLost(jobs, answers) })
  const results = commitAll(commits).values()
  /** @type {typeof answers} */
  const last = []
  // Loops instead of `map`: in Node 20 its array is sent entry by entry, as one that may have holes.
  for (const answer of answers) last.push(answer ? (isMixed ? undefined : answer) : results.next().value)
  port.postMessage({ answers: unlessLost(jobs, last) })
})

// A thread before this one, or the process, may have ended before it did so.
purgeSoon()
port.postMessage({ ready: true })

/** Ends the thread: nothing is changed. */
function tellPending() {
  const opened = new Database(file)
  port.postMessage({ pending: MIGRATIONS.slice(stepsDone(opened)).map(({ title }) => title) })
  opened.close()
  process.exit()
}

function start() {
  // SQLite would begin an empty one.
  const lost = findLoss()
  if (lost) throw Object.assign(new Error(lost.error), { code: lost.code })
  return withMessage(openDatabase)
}

/**
 * An error of libsql loses its message on the way to another thread.
 *
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
function withMessage(work) {
  try {
    return work()
  } catch (cause) {
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
  if (stepsDone(opened) < MIGRATIONS.length) migrate(opened)
  return opened
}

/** @param {Database.Database} opened */
function migrate(opened) {
  opened.exec('BEGIN IMMEDIATE')
  // Another process may have been quicker.
  for (const { sql } of MIGRATIONS.slice(stepsDone(opened))) opened.exec(sql)
  opened.exec(`PRAGMA user_version = ${Math.max(stepsDone(opened), MIGRATIONS.length)}`)
  opened.exec('COMMIT')
}

/**
 * @param {Database.Database} opened
 * @returns {number}
 */
function stepsDone(opened) {
  const [{ user_version }] = /** @type {[{ user_version: number }]} */ (opened.pragma('user_version'))
  return user_version
}

/**
 * @param {SqliteJob} job
 * @returns {SqliteAnswer | undefined} undefined for a commit, which has to wait
 */
function answerEarly(job) {
  if (!('dueMs' in job)) return attempt(() => answer(job))
  if (job.dueMs < monotonicMs()) return { error: 'nobody waits for it any longer', code: 'OVERDUE' }
  return job.kind === 'commit' ? undefined : attempt(() => answer(job))
}

/**
 * Replaces the answers when the file was removed (`STORE_REMOVED`): SQLite goes on without its name, and all of it would be gone
 * with the process.
 *
 * @param {readonly SqliteJob[]} jobs
 * @param {readonly (SqliteAnswer | undefined)[]} answers
 * @returns {readonly (SqliteAnswer | undefined)[]}
 */
function unlessLost(jobs, answers) {
  const lost = findLoss()
  if (!lost) return answers
  return answers.map((given, index) => (given && 'dueMs' in /** @type {SqliteJob} */ (jobs[index]) ? lost : given))
}

function findLoss() {
  const found = attempt(() => statSync(file, { throwIfNoEntry: false })?.ino)
  if ('value' in found && found.value === inode) return undefined
  const problem = 'error' in found ? `cannot be reached (${found.error})` : 'was removed or replaced'
  return {
    error: `${file} ${problem} while the server runs. Put it back, or restart the server.`,
    code: 'STORE_REMOVED',
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
    case 'entries':
      return statements[job.order === 'asc' ? 'entriesAsc' : 'entriesDesc'].all([job.from, job.to, job.limit])
    case 'beat':
      return beat(job)
    case 'sighting':
      return statements.sighting.get([job.serverId])
    case 'watch':
      return watch(job.isOn)
    case 'purge':
      return purge()
    case 'sightings':
      return statements.sightings.all()
    case 'quick-check':
      return /** @type {{ quick_check: string }[]} */ (db.pragma('quick_check')).map((row) => row.quick_check)
    case 'backup':
      return void db.prepare('VACUUM INTO ?').run([job.file])
    case 'close':
      return close(job.serverId)
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
  // Not prepared: where the lock is another's, such a statement goes on to read what was there before (libsql 0.5.29).
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
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
function apply({ changes, present, absent, equal }) {
  for (const key of present) if (!statements.get.get([key])) return false
  for (let index = 0; index < absent.length; index += 2) {
    if (statements.any.get([absent[index], absent[index + 1]])) return false
  }
  for (let index = 0; index < equal.length; index += 2) {
    if (!statements.equals.get([equal[index], equal[index + 1]])) return false
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
  purgeSoon()
}

function purgeSoon() {
  purging ??= setTimeout(() => attempt(purge), PURGE_AFTER_MS)
}

/** The log keeps its content until it is truncated, which has to wait while another process reads it. */
function purge() {
  stopPurging()
  let isDone = false
  try {
    withBusyTimeout(0, () => {
      const [{ busy }] = /** @type {[{ busy: number }]} */ (db.pragma('wal_checkpoint(TRUNCATE)'))
      isDone = busy === 0
    })
  } finally {
    if (!isDone) purgeSoon()
  }
}

/**
 * @param {number} timeoutMs
 * @param {() => void} work
 */
function withBusyTimeout(timeoutMs, work) {
  db.exec(`PRAGMA busy_timeout = ${timeoutMs}`)
  try {
    work()
  } finally {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

function stopPurging() {
  clearTimeout(purging)
  purging = undefined
}

/**
 * A sign of life need not survive the power.
 *
 * @param {{ serverId: string, process: string, silent: readonly string[] }} server
 * @returns {unknown} those of all servers
 */
function beat({ serverId, process, silent }) {
  db.exec('PRAGMA synchronous = NORMAL')
  try {
    // In a transaction: a statement that the lock of another process has stopped would hold up the next commit (libsql 0.5.29).
    withBusyTimeout(BEAT_TIMEOUT_MS, () =>
      inTransaction(() => [
        statements.beat.run([serverId, process]),
        ...silent.map((id) => statements.forget.run([id])),
      ]),
    )
  } finally {
    db.exec('PRAGMA synchronous = FULL')
  }
  return statements.sightings.all()
}

/** @param {boolean} isOn */
function watch(isOn) {
  if (isOn === (unwatch !== undefined)) return
  unwatch?.()
  unwatch = isOn ? watchCommits() : undefined
}

/**
 * Notifies the server about commits of other processes. An idle thread sleeps until the log is written to, and one that is written
 * to all the time looks at intervals: waking up costs more than looking.
 *
 * @returns {() => void} ends it
 */
function watchCommits() {
  /** @type {import('node:fs').FSWatcher | undefined} */
  let watcher
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const stop = () => {
    watcher?.close()
    clearTimeout(timer)
  }
  // A failure must not end the thread: requests report it, and the next look tries again.
  const look = () =>
    attempt(() => {
      const version = dataVersion()
      if (version !== lastVersion) port.postMessage({ changed: true })
      lastVersion = version
    })
  const rest = () => {
    stop()
    look()
    timer = setTimeout(wait, WATCH_INTERVAL_MS)
  }
  const wait = () => {
    watcher = watchLog(rest)
    // After the watch has begun, so that nothing falls between.
    look()
    timer = setTimeout(rest, watcher ? IDLE_INTERVAL_MS : 0)
  }
  wait()
  return stop
}

/**
 * @param {() => void} onWrite
 * @returns {import('node:fs').FSWatcher | undefined} undefined where files cannot be watched
 */
function watchLog(onWrite) {
  try {
    return watchFile(`${file}-wal`, onWrite).on('error', () => {})
  } catch {
    return undefined
  }
}

/** It changes with the commits of other connections (https://sqlite.org/pragma.html#pragma_data_version). */
function dataVersion() {
  const [version] = /** @type {[number]} */ (statements.version.get())
  return version
}

/** @param {string} serverId */
function close(serverId) {
  attempt(() => inTransaction(() => statements.leave.run([serverId])))
  attempt(purge)
  stopPurging()
  unwatch?.()
  db.close()
}
