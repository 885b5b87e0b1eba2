import { closeSync, openSync, readSync, renameSync, rmSync } from 'node:fs'
import Database from 'libsql'
import { MetricsTally, type MetricsView } from './metrics.ts'
import { isEntry, RunBuilder, type RunEndNote, type RunRecord, type RunSummary } from './run-summary.ts'
import type { TraceFiles } from './trace-files.ts'
import { readTraceLine } from './trace-line.ts'
import type { MetricsQuery, RunFilter, RunsQuery } from './trace-query.ts'

/** Of the tables below: an index of another version is made anew from the files. */
const VERSION = 1
const SCHEMA = `
CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, name TEXT NOT NULL, inode INTEGER NOT NULL, indexed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
  run_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, entry_point TEXT NOT NULL, status TEXT NOT NULL,
  started_at REAL NOT NULL, duration_ms REAL, first_text_ms REAL,
  calls INTEGER NOT NULL, errors INTEGER NOT NULL, events INTEGER NOT NULL,
  input TEXT NOT NULL, output TEXT NOT NULL, error TEXT,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  file INTEGER NOT NULL, steps TEXT NOT NULL, modules TEXT NOT NULL, places TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (started_at, run_id);
CREATE INDEX IF NOT EXISTS runs_by_agent ON runs (agent_id, started_at, run_id);
`
const INDEX_FILE = 'index.db'
const LOCK_FILE = 'index.lock'
/** How much of a file is read in one step, between which others get their turn. */
export const STEP_BYTES = 2 * 1024 * 1024
/** Runs that have ended are kept at hand for this many others: something may still come. */
const KEPT_AT_HAND = 1000
const SUMMARY = `run_id, agent_id, entry_point, status, started_at, duration_ms, first_text_ms, calls, errors, events,
  input, output, error, input_tokens, output_tokens`

interface IndexedFile {
  readonly id: number
  name: string
  inode: number
  indexed: number
}

export type Row = RunSummary & { change: number }

/**
 * What is in the trace files, by run: a database beside them that can always be made anew. One process at a time keeps it
 * up to date (whoever holds the lock); others only read.
 */
export class TraceIndex {
  readonly #files: TraceFiles
  readonly #maxBytes: number
  readonly #db: Database.Database
  readonly #put: Database.Statement
  readonly #whole: Database.Statement
  readonly #known = new Map<string, IndexedFile>()
  readonly #builders = new Map<string, RunBuilder>()
  readonly #dirty = new Set<string>()
  readonly #ends: RunEndNote[] = []
  #lock: Database.Database | undefined

  /** @param maxBytes that all files of an agent may come to: the older half goes */
  constructor(files: TraceFiles, maxBytes: number) {
    this.#files = files
    this.#maxBytes = maxBytes
    this.#tryLock()
    this.#db = this.#openDatabase()
    this.#put = this.#db.prepare(`INSERT OR REPLACE INTO runs (${SUMMARY}, file, steps, modules, places)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#whole = this.#db.prepare(`SELECT ${SUMMARY}, modules, steps, places FROM runs WHERE run_id = ?`)
    this.#knowFiles()
    if (this.#lock) this.#interruptRunning()
  }

  /** Whether this process is the one that keeps the index up to date. Asks for it when nobody does. */
  get isKeeper(): boolean {
    if (!this.#lock && this.#tryLock()) {
      this.#builders.clear()
      this.#knowFiles()
    }
    return this.#lock !== undefined
  }

  /** Lets another process keep the index; this one asks for it again when it next reads on. */
  letOthersKeep(): void {
    this.#lock?.close()
    this.#lock = undefined
  }

  /** Bytes of the files that are not indexed yet. */
  missingBytes(): number {
    const present = this.#files.list()
    return present.reduce((sum, { name, size, inode }) => {
      const known = this.#known.get(name)
      return sum + Math.max(0, size - (known?.inode === inode ? known.indexed : 0))
    }, 0)
  }

  /**
   * Reads on in the files.
   *
   * @param names of the files that have grown; all when left out
   * @returns whether there may be more to read
   */
  readOn(names: readonly string[] = this.#files.list().map(({ name }) => name)): boolean {
    if (!this.isKeeper) return false
    for (const name of names) {
      const file = this.#follow(name)
      if (!file) continue
      if (this.#readStep(file)) return true
      this.#rotate(file)
    }
    this.#forgetRemoved()
    this.#applyEnds()
    return false
  }

  /** Takes down what the host says of the ends of runs; their events have to be in the files by then. */
  noteEnds(ends: readonly RunEndNote[]): void {
    if (this.isKeeper) this.#ends.push(...ends)
  }

  /** Newest first. */
  runs({ filter, first, after }: RunsQuery): { runs: RunSummary[]; hasMore: boolean } {
    const { where, values } = conditionsOf(filter)
    if (after) {
      where.push('(started_at < ? OR (started_at = ? AND run_id < ?))')
      values.push(after.startedAt, after.startedAt, after.runId)
    }
    const condition = where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''
    const sql = `SELECT ${SUMMARY} FROM runs ${condition} ORDER BY started_at DESC, run_id DESC LIMIT ?`
    const rows = this.#all<RunSummary>(sql, [...values, first + 1])
    return { runs: rows.slice(0, first), hasMore: rows.length > first }
  }

  count(filter: RunFilter): number {
    const { where, values } = conditionsOf(filter)
    const condition = where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''
    return this.#all<{ count: number }>(`SELECT count(*) AS count FROM runs ${condition}`, values)[0]?.count ?? 0
  }

  run(runId: string): RunSummary | undefined {
    return this.#all<RunSummary>(`SELECT ${SUMMARY} FROM runs WHERE run_id = ?`, [runId])[0]
  }

  /** Runs whose ids begin like this, newest first. */
  runsLike(prefix: string, limit: number): RunSummary[] {
    const sql = `SELECT ${SUMMARY} FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY started_at DESC LIMIT ?`
    return this.#all<RunSummary>(sql, [prefix, `${prefix}\uffff`, limit])
  }

  /** The newest run of an agent in which a step (`<module id>.<method>`) was taken. */
  latestWith(agentId: string, step: string): RunSummary | undefined {
    const filter = { agentId, step }
    return this.runs({ filter, first: 1, after: undefined }).runs[0]
  }

  /** The text of {@link Places} of a run's events; empty when there is no such run. */
  placesOf(runId: string): string {
    return this.#all<{ places: string }>('SELECT places FROM runs WHERE run_id = ?', [runId])[0]?.places ?? ''
  }

  fileName(id: number): string | undefined {
    return this.#all<{ name: string }>('SELECT name FROM files WHERE id = ?', [id])[0]?.name
  }

  /** What has changed after that change, oldest first. A row is written anew with every change, at the end. */
  changes(after: number, limit: number): Row[] {
    const sql = `SELECT ${SUMMARY}, rowid AS change FROM runs WHERE rowid > ? ORDER BY rowid LIMIT ?`
    return this.#all<Row>(sql, [after, limit])
  }

  lastChange(): number {
    return this.#all<{ last: number }>('SELECT coalesce(max(rowid), 0) AS last FROM runs', [])[0]?.last ?? 0
  }

  metrics(query: MetricsQuery): MetricsView {
    const tally = new MetricsTally(query)
    const { where, values } = conditionsOf({ agentId: query.agentId, since: query.since, until: query.until })
    const sql = `SELECT agent_id, status, started_at, duration_ms, first_text_ms, input_tokens, output_tokens, modules
      FROM runs WHERE ${where.join(' AND ')} ORDER BY started_at`
    for (const row of this.#db.prepare(sql).iterate(values)) tally.add(row as Parameters<MetricsTally['add']>[0])
    return tally.view()
  }

  close(): void {
    this.#db.close()
    this.letOthersKeep()
  }

  #all<T>(sql: string, values: readonly (string | number)[]): T[] {
    return this.#db.prepare(sql).all([...values]) as T[]
  }

  /** The system gives the lock back at whatever instant its holder dies. */
  #tryLock(): boolean {
    const path = this.#files.path(LOCK_FILE)
    closeSync(openSync(path, 'a', 0o600))
    const lock = new Database(path)
    try {
      lock.exec('PRAGMA busy_timeout = 0')
      lock.exec('BEGIN EXCLUSIVE')
      this.#lock = lock
      return true
    } catch {
      lock.close()
      return false
    }
  }

  #openDatabase(): Database.Database {
    const path = this.#files.path(INDEX_FILE)
    try {
      return openIndex(path)
    } catch (error) {
      if (!this.#lock) throw error
      // Whatever it is, it can be made anew.
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
      return openIndex(path)
    }
  }

  #knowFiles(): void {
    this.#known.clear()
    for (const file of this.#all<IndexedFile>('SELECT id, name, inode, indexed FROM files', [])) {
      this.#known.set(file.name, { ...file })
    }
  }

  /** No run of a process that is gone goes on. */
  #interruptRunning(): void {
    this.#db.exec(`UPDATE runs SET status = 'interrupted' WHERE status = 'running'`)
  }

  /** The file as it is indexed so far; anew when another one has its name now. */
  #follow(name: string): IndexedFile | undefined {
    const facts = this.#files.stat(name)
    if (!facts) return undefined
    const known = this.#known.get(name)
    if (known && known.inode === facts.inode && known.indexed <= facts.size) return known
    if (known) this.#forget(known)
    const { id } = this.#db
      .prepare('INSERT INTO files (name, inode, indexed) VALUES (?, ?, 0) RETURNING id')
      .get([name, facts.inode]) as { id: number }
    const file = { id, name, inode: facts.inode, indexed: 0 }
    this.#known.set(name, file)
    return file
  }

  #applyEnds(): void {
    if (this.#ends.length === 0) return
    for (const end of this.#ends.splice(0)) {
      const builder = this.#builderOf(end.runId)
      if (!builder) continue
      builder.end(end)
      this.#dirty.add(end.runId)
    }
    this.#write()
  }

  /** @returns whether the step was full, so that there is probably more */
  #readStep(file: IndexedFile): boolean {
    const bytes = readBytes(this.#files.path(file.name), file.indexed, STEP_BYTES)
    // What follows the last newline is still being written, unless it alone fills the step.
    const end = bytes.lastIndexOf(0x0a) + 1 || (bytes.length === STEP_BYTES ? bytes.length : 0)
    if (end === 0) return false
    let start = 0
    while (start < end) {
      const newline = bytes.indexOf(0x0a, start)
      const lineEnd = newline === -1 ? end : newline
      this.#take(file, bytes.toString('utf8', start, lineEnd), file.indexed + start, lineEnd - start)
      start = lineEnd + 1
    }
    file.indexed += end
    this.#write(file)
    return bytes.length === STEP_BYTES
  }

  #take(file: IndexedFile, line: string, offset: number, length: number): void {
    const event = readTraceLine(line)
    const runId = event?.run_id
    if (!event || typeof runId !== 'string') return
    // Nothing of a run can be known before it is begun; looking for it would cost more than all else here.
    const isBeginning = event.event_type === 'call' && isEntry(event)
    let builder = isBeginning ? this.#builders.get(runId) : this.#builderOf(runId)
    if (!builder) {
      builder = RunBuilder.begin(runId, event)
      this.#builders.set(runId, builder)
    }
    builder.add(event)
    builder.places.add({ file: file.id, offset, length })
    this.#dirty.add(runId)
  }

  #builderOf(runId: string): RunBuilder | undefined {
    const atHand = this.#builders.get(runId)
    if (atHand) return atHand
    const row = this.#whole.all([runId])[0] as
      | (RunSummary & { modules: string; steps: string; places: string })
      | undefined
    if (!row) return undefined
    const { modules, steps, places, ...summary } = row
    const builder = RunBuilder.resume({
      summary,
      modules: JSON.parse(modules) as RunRecord['modules'],
      steps: steps.split(' ').filter((step) => step !== ''),
      places,
    })
    this.#builders.set(runId, builder)
    return builder
  }

  /** Everything that has changed, and how far the file was read, in one transaction. */
  #write(file?: IndexedFile): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      for (const runId of this.#dirty) {
        const record = this.#builders.get(runId)?.toRecord()
        if (record) this.#put.run([...valuesOf(record), lastFileOf(record.places), ...textsOf(record)])
      }
      if (file) this.#db.prepare('UPDATE files SET indexed = ? WHERE id = ?').run([file.indexed, file.id])
      this.#db.exec('COMMIT')
    } catch (error) {
      this.#db.exec('ROLLBACK')
      throw error
    }
    this.#dirty.clear()
    this.#letGo()
  }

  #letGo(): void {
    let surplus = this.#builders.size - KEPT_AT_HAND
    for (const [runId, builder] of this.#builders) {
      if (surplus <= 0) return
      if (builder.isRunning) continue
      this.#builders.delete(runId)
      surplus--
    }
  }

  /** Two generations of a file are kept, each of at most half of what an agent may have. */
  #rotate(file: IndexedFile): void {
    if (file.name.endsWith('.1') || file.indexed < this.#maxBytes / 2) return
    const older = `${file.name}.1`
    const gone = this.#known.get(older)
    if (gone) this.#forget(gone)
    this.#files.forget(file.name)
    renameSync(this.#files.path(file.name), this.#files.path(older))
    this.#db.prepare('UPDATE files SET name = ? WHERE id = ?').run([older, file.id])
    this.#known.delete(file.name)
    file.name = older
    this.#known.set(older, file)
  }

  #forgetRemoved(): void {
    for (const file of this.#known.values()) if (!this.#files.stat(file.name)) this.#forget(file)
  }

  /** Runs that have nothing after what was in this file go with it. */
  #forget(file: IndexedFile): void {
    for (const { run_id } of this.#all<RunSummary>('SELECT run_id FROM runs WHERE file = ?', [file.id])) {
      this.#builders.delete(run_id)
      this.#dirty.delete(run_id)
    }
    this.#db.prepare('DELETE FROM runs WHERE file = ?').run([file.id])
    this.#db.prepare('DELETE FROM files WHERE id = ?').run([file.id])
    this.#known.delete(file.name)
  }
}

function openIndex(path: string): Database.Database {
  closeSync(openSync(path, 'a', 0o600))
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

function readBytes(path: string, from: number, length: number): Buffer {
  const descriptor = openSync(path, 'r')
  try {
    const bytes = Buffer.allocUnsafe(length)
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, from))
  } finally {
    closeSync(descriptor)
  }
}

type Value = string | number | null

function valuesOf({ summary }: RunRecord): Value[] {
  const values = [
    summary.run_id,
    summary.agent_id,
    summary.entry_point,
    summary.status,
    summary.started_at,
    summary.duration_ms,
    summary.first_text_ms,
    summary.calls,
    summary.errors,
    summary.events,
    summary.input,
    summary.output,
    summary.error,
    summary.input_tokens,
    summary.output_tokens,
  ]
  return values.map(bindable)
}

function textsOf({ steps, modules, places }: RunRecord): Value[] {
  return [bindable(` ${steps.join(' ')} `), bindable(JSON.stringify(modules)), places]
}

/** Text ends at NUL where libsql binds it. */
function bindable(value: Value): Value {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
}

function lastFileOf(places: string): number {
  return Number(places.slice(places.lastIndexOf(';') + 1).split(':', 1)[0] ?? 0)
}

function conditionsOf(filter: RunFilter): { where: string[]; values: (string | number)[] } {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, ...given: (string | number)[]) => {
    where.push(condition)
    values.push(...given)
  }
  if (filter.agentId !== undefined) add('agent_id = ?', filter.agentId)
  if (filter.entryPoint !== undefined) add('entry_point = ?', filter.entryPoint)
  if (filter.status !== undefined) add('status = ?', filter.status)
  if (filter.since !== undefined) add('started_at >= ?', filter.since)
  if (filter.until !== undefined) add('started_at < ?', filter.until)
  if (filter.minDurationMs !== undefined) add('duration_ms >= ?', filter.minDurationMs)
  if (filter.maxDurationMs !== undefined) add('duration_ms <= ?', filter.maxDurationMs)
  if (filter.hasErrors === true) add('errors > 0')
  if (filter.step !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `% ${literal(filter.step)} %`)
  if (filter.moduleId !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `% ${literal(filter.moduleId)}.%`)
  if (filter.methodName !== undefined) add(`steps LIKE ? ESCAPE '\\'`, `%.${literal(filter.methodName)} %`)
  if (filter.text !== undefined) {
    const pattern = `%${literal(filter.text)}%`
    const columns = ['input', 'output', 'error', 'run_id', 'agent_id']
    add(`(${columns.map((name) => `${name} LIKE ? ESCAPE '\\'`).join(' OR ')})`, ...columns.map(() => pattern))
  }
  return { where, values }
}

/** A text as itself within a LIKE pattern. */
function literal(text: string): string {
  return text.replaceAll('\0', '').replace(/[\\%_]/g, '\\$&')
}
