import { closeSync, readSync, renameSync } from 'node:fs'
import type Database from 'libsql'
import { openToRead, type TraceFiles, touchFile } from '../files/trace-files.ts'
import { readTraceLine } from '../files/trace-line.ts'
import { inTransaction } from './in-transaction.ts'
import { isDamage, openIndexDatabase, removeIndex, tryLock } from './index-database.ts'
import { isBeginning, RunBuilder } from './run-summary.ts'
import { RunsTable } from './runs-table.ts'

const INDEX_FILE = 'index.db'
const LOCK_FILE = 'index.lock'
/** Left by a process that waits for the index, for the one that keeps it. */
const WANTED_FILE = 'index.wanted'
const MIB = 1024 * 1024
/** Size of the part of a file read in one step; other work gets its turn between steps. */
export const STEP_BYTES = 2 * MIB
/** Runs that have ended are kept at hand for this many others: something may still come. */
const KEPT_AT_HAND = 1000

interface IndexedFile {
  readonly id: number
  name: string
  inode: number
  indexed: number
}

/**
 * Index of the trace files, by run: a database beside them that can always be rebuilt. One process at a time keeps it
 * up to date (the one that holds the lock); others only read.
 */
export class TraceIndex {
  readonly runs: RunsTable
  readonly #files: TraceFiles
  readonly #maxBytes: number
  readonly #rotates: boolean
  readonly #onTooLong: (problem: string) => void
  /** Ids of the files whose long lines were reported. */
  readonly #reported = new Set<number>()
  readonly #db: Database.Database
  readonly #inode: number | undefined
  readonly #known = new Map<string, IndexedFile>()
  readonly #builders = new Map<string, RunBuilder>()
  readonly #dirty = new Set<string>()
  #lock: Database.Database | undefined

  /** Opens the index. A damaged one is rebuilt from the trace files, unless another process keeps it. */
  static open(...options: ConstructorParameters<typeof TraceIndex>): TraceIndex {
    try {
      return new TraceIndex(...options)
    } catch (error) {
      if (!isDamage(error)) throw error
      return new TraceIndex(...options)
    }
  }

  /**
   * @param maxBytes that all files of an agent may come to: the older half goes
   * @param rotates false leaves that to another process
   * @param onTooLong called once a file with a sentence about lines that are too long to read: they are left out
   */
  constructor(files: TraceFiles, maxBytes: number, rotates: boolean, onTooLong: (problem: string) => void) {
    this.#files = files
    this.#maxBytes = maxBytes
    this.#rotates = rotates
    this.#onTooLong = onTooLong
    this.#lock = tryLock(files.path(LOCK_FILE))
    try {
      this.#db = openIndexDatabase(files.path(INDEX_FILE), this.#lock !== undefined)
    } catch (error) {
      this.releaseWriterLock()
      throw error
    }
    this.#inode = files.stat(INDEX_FILE)?.inode
    try {
      this.runs = new RunsTable(this.#db)
      this.#knowFiles()
      if (this.#lock) this.runs.interruptRunning()
    } catch (error) {
      this.removeIfDamaged(error)
      this.close()
      throw error
    }
  }

  /** False when its file was removed. */
  get isThere(): boolean {
    return this.#files.stat(INDEX_FILE)?.inode === this.#inode
  }

  /** True when this process keeps the index up to date. Takes the lock when it is free. */
  get isWriter(): boolean {
    if (this.#lock) return true
    this.#lock = tryLock(this.#files.path(LOCK_FILE))
    if (!this.#lock) return false
    this.#builders.clear()
    this.#knowFiles()
    return true
  }

  /** Lets another process keep the index; this one asks for it again when it next reads on. */
  releaseWriterLock(): void {
    this.#lock?.close()
    this.#lock = undefined
  }

  /** Removes the index if the error says that it is damaged and this process keeps it. The next one is built from the trace files. */
  removeIfDamaged(error: unknown): void {
    if (this.#lock && isDamage(error)) removeIndex(this.#files.path(INDEX_FILE))
  }

  /** Asks the process that keeps the index to bring it up to date, however busy it is. */
  want(): void {
    touchFile(this.#files.path(WANTED_FILE))
  }

  /** True while a process waits for the index. */
  get isWanted(): boolean {
    return this.#files.stat(WANTED_FILE) !== undefined
  }

  /** Tells those that wait for the index that it is up to date. */
  grant(): void {
    this.#files.remove(WANTED_FILE)
  }

  /** Bytes of the files that are not indexed yet. */
  missingBytes(): number {
    // How far another process has come stands in the database.
    if (!this.#lock) this.#knowFiles()
    const present = this.#files.list()
    return present.reduce((sum, { name, size, inode }) => {
      const known = this.#known.get(name)
      return sum + Math.max(0, size - Math.max(known?.inode === inode ? known.indexed : 0, this.#firstOf(size)))
    }, 0)
  }

  /**
   * Reads on in the files.
   *
   * @param names of the files that have grown; all when left out
   * @returns whether there may be more to read
   */
  readOn(names: readonly string[] = this.#files.list().map(({ name }) => name)): boolean {
    if (!this.isWriter) return false
    // Before a file that was renamed is read under its other name.
    this.#forgetRemoved()
    for (const name of names) {
      const file = this.#follow(name)
      if (!file) continue
      if (this.#readStep(file)) return true
      this.#rotate(file)
    }
    this.runs.expireWaiting()
    return false
  }

  /** Removes runs, from every page of the database. */
  removeRuns(ids: readonly string[]): void {
    for (const id of ids) {
      this.#builders.delete(id)
      this.#dirty.delete(id)
    }
    this.runs.remove(ids)
    // A row that was changed has left its earlier versions in free pages.
    this.#db.exec('VACUUM')
    this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  fileName(id: number): string | undefined {
    const row = this.#db.prepare('SELECT name FROM files WHERE id = ?').get([id]) as { name: string } | undefined
    return row?.name
  }

  close(): void {
    this.#db.close()
    this.releaseWriterLock()
  }

  #knowFiles(): void {
    this.#known.clear()
    const files = this.#db.prepare('SELECT id, name, inode, indexed FROM files').all([]) as IndexedFile[]
    for (const file of files) this.#known.set(file.name, { ...file })
  }

  /** The file with its indexed length; starts over if another file has its name now. */
  #follow(name: string): IndexedFile | undefined {
    const facts = this.#files.stat(name)
    if (!facts) return undefined
    const known = this.#known.get(name)
    const first = this.#firstOf(facts.size)
    if (known && known.inode === facts.inode && known.indexed <= facts.size) {
      known.indexed = Math.max(known.indexed, first)
      return known
    }
    if (known) this.#forget(known)
    const { id } = this.#db
      .prepare('INSERT INTO files (name, inode, indexed) VALUES (?, ?, 0) RETURNING id')
      .get([name, facts.inode]) as { id: number }
    const file = { id, name, inode: facts.inode, indexed: first }
    this.#known.set(name, file)
    return file
  }

  /** Place from which a file is read: beyond the limit of its agent it was copied here, or written under a larger limit. */
  #firstOf(size: number): number {
    return Math.max(0, size - this.#maxBytes)
  }

  /** @returns whether the step was full, so that there is probably more */
  #readStep(file: IndexedFile): boolean {
    const bytes = readBytes(this.#files.path(file.name), file.indexed, STEP_BYTES)
    // What follows the last newline is still being written, unless it alone fills the step.
    const isTooLong = bytes.length === STEP_BYTES && !bytes.includes(0x0a)
    const end = isTooLong ? STEP_BYTES : bytes.lastIndexOf(0x0a) + 1
    if (end === 0) return false
    if (isTooLong) this.#reportTooLong(file)
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

  #reportTooLong({ id, name }: IndexedFile): void {
    if (this.#reported.has(id)) return
    this.#reported.add(id)
    this.#onTooLong(
      `${this.#files.path(name)} has lines of more than ${STEP_BYTES / MIB} MiB: runs are shown without them.`,
    )
  }

  #take(file: IndexedFile, line: string, offset: number, length: number): void {
    const event = readTraceLine(line)
    const runId = event?.run_id
    if (!event || typeof runId !== 'string') return
    // Nothing of a run can be known before it is begun; looking for it would cost more than all else here.
    let builder = isBeginning(event) ? this.#builders.get(runId) : this.#builderOf(runId)
    if (!builder) {
      // A run that was refused before anything was called.
      if (event.event_type === 'end') return
    }
    try {
      builder ??= RunBuilder.begin(runId, event)
      builder.add(event)
    } catch {
      // A line that something else has written holds up no others.
      return
    }
    this.#builders.set(runId, builder)
    builder.places.add({ file: file.id, offset, length })
    this.#dirty.add(runId)
  }

  #builderOf(runId: string): RunBuilder | undefined {
    const atHand = this.#builders.get(runId)
    if (atHand) return atHand
    const record = this.runs.find(runId)
    if (!record) return undefined
    const builder = RunBuilder.resume(record)
    this.#builders.set(runId, builder)
    return builder
  }

  /** Everything that has changed, and how far the file was read, in one transaction. */
  #write(file: IndexedFile): void {
    inTransaction(this.#db, () => {
      for (const runId of this.#dirty) {
        const record = this.#builders.get(runId)?.toRecord()
        if (record) this.runs.put(record)
      }
      this.#db.prepare('UPDATE files SET indexed = ? WHERE id = ?').run([file.indexed, file.id])
    })
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

  /** Keeps two generations of a file, each up to half of an agent's limit. */
  #rotate(file: IndexedFile): void {
    if (!this.#rotates || file.name.endsWith('.1') || file.indexed < this.#maxBytes / 2) return
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
    for (const file of this.#known.values()) if (this.#files.stat(file.name)?.inode !== file.inode) this.#forget(file)
  }

  /** Removes the runs that have no events after this file. Files that have earlier ones, of which it was a copy, are read again. */
  #forget(file: IndexedFile): void {
    this.#db.prepare('DELETE FROM files WHERE id = ?').run([file.id])
    this.#known.delete(file.name)
    const earlier = new Set<number>()
    for (const { run_id, places } of this.runs.removeOf(file.id)) {
      this.#builders.delete(run_id)
      this.#dirty.delete(run_id)
      for (const part of places.split(';').slice(0, -1)) earlier.add(Number.parseInt(part, 10))
    }
    for (const other of this.#known.values()) if (earlier.has(other.id)) this.#forget(other)
  }
}

function readBytes(path: string, from: number, length: number): Buffer {
  const descriptor = openToRead(path)
  try {
    const bytes = Buffer.allocUnsafe(length)
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, from))
  } finally {
    closeSync(descriptor)
  }
}
