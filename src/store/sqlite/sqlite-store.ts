import { randomUUID } from 'node:crypto'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { LastingThread } from '../../lasting-thread.ts'
import { describeProcess, runsHere } from '../../process-identity.ts'
import { APPEND, checkStats } from '../../read-regular-file.ts'
import { DEADLINE_MS } from '../checked-store.ts'
import { Heartbeat, type Sighting } from '../heartbeat.ts'
import { boundsOf, endOf } from '../key-bounds.ts'
import { fromKeyvText } from '../keyv/keyv-text.ts'
import type { AscendingRange, Change, Entry, Guards, KeyRange, Prepare, RecordStore } from '../record-store.ts'
import { Watchers } from '../watchers.ts'
import { monotonicMs } from './monotonic-ms.js'
import type { SqliteAnswer, SqliteJob, SqliteWorkerData } from './sqlite-job.ts'

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

type Message =
  | { readonly ready: true }
  | { readonly changed: true }
  | { readonly early: readonly (SqliteAnswer | undefined)[] }
  | { readonly answers: readonly (SqliteAnswer | undefined)[] }

const WORKER = new URL('./sqlite-worker.js', import.meta.url)
/** Delay before the watch ends: watchers come and go with every run. */
const UNLISTEN_AFTER_MS = 1000
const LOOK_AGAIN_MS = 500
/** Of `@keyv/sqlite`, whose table this is. */
const KEY_PREFIX = 'keyv:'

/**
 * Records in a SQLite file, in a thread of its own. While the thread is busy, requests wait, and go to it
 * together: all the writes among it become one transaction. A thread that ends, such as for lack of memory, is started again.
 */
export class SqliteStore implements RecordStore {
  readonly serverId = randomUUID()
  readonly #deadlineMs: number
  readonly #watchers = new Watchers()
  readonly #heartbeat = new Heartbeat((silent) =>
    this.#ask<Sighting[]>({ kind: 'beat', serverId: this.serverId, process: describeProcess(), silent }),
  )
  #isListening = false
  #unlistening: NodeJS.Timeout | undefined
  /** Kept apart from what waits for their answers: large ones go from memory once they are sent. */
  #jobs: SqliteJob[] = []
  #waiting: Waiting[] = []
  /** Requests that the thread works on: none while it starts. */
  #asked: readonly Waiting[] | undefined = []
  #asking: NodeJS.Immediate | undefined
  readonly #thread: LastingThread<Message>

  private constructor(data: SqliteWorkerData, deadlineMs: number) {
    this.#deadlineMs = deadlineMs
    this.#thread = new LastingThread<Message>({
      name: 'database',
      start: () => startThread(data),
      onMessage: (message) => this.#onMessage(message),
      onEnd: (reason) => this.#onEnd(reason),
    })
  }

  /**
   * Opens the file, or creates it, readable by its owner alone.
   *
   * @param file absolute path
   * @param prepare called before the first sign of life: what it throws leaves the file as it was
   * @param deadlineMs time after which a read or a commit is no longer awaited
   * @throws Error of SQLite or the file system
   */
  static async open(file: string, prepare?: Prepare, deadlineMs = DEADLINE_MS): Promise<SqliteStore> {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const store = new SqliteStore({ file, inode: makePrivate(file) }, deadlineMs)
    await store.#thread.started
    try {
      await prepare?.(store)
      await store.#heartbeat.start()
      return store
    } catch (error) {
      await store.close().catch(() => store.#thread.worker.terminate())
      throw error
    }
  }

  /** Returns the titles of the steps of the layout that a file lacks. */
  static async pendingMigrations(file: string): Promise<string[]> {
    // Opening would create it.
    const data: SqliteWorkerData = { file: existsSync(file) ? file : ':memory:', isDryRun: true }
    const worker = startThread(data)
    return new Promise((resolve, reject) => {
      worker.once('message', ({ pending }: { pending: string[] }) => resolve(pending))
      worker.once('error', reject)
    })
  }

  async get(keys: readonly string[]): Promise<(string | undefined)[]> {
    const texts = await this.#ask<(string | undefined)[]>({ kind: 'get', keys: keys.map(toName), dueMs: this.#dueMs() })
    return texts.map((text) => (text === undefined ? undefined : fromKeyvText(text)))
  }

  async list(range: KeyRange): Promise<string[]> {
    const names = await this.#ask<string[]>({ kind: 'list', ...boundsOf(range, toName), dueMs: this.#dueMs() })
    return names.map(toKey)
  }

  async entries(range: KeyRange): Promise<Entry[]> {
    const rows = await this.#ask<[string, string][]>({
      kind: 'entries',
      ...boundsOf(range, toName),
      dueMs: this.#dueMs(),
    })
    return rows.map(([name, text]) => [toKey(name), fromKeyvText(text)])
  }

  /** Returns the entries of several ranges; reads of one turn of the event loop go to the thread together. */
  entriesOfEach(ranges: readonly AscendingRange[]): Promise<Entry[][]> {
    return Promise.all(ranges.map((range) => this.entries(range)))
  }

  async commit(changes: readonly Change[], guards: Guards = {}, notify: readonly string[] = []): Promise<boolean> {
    const isDone = await this.#commit(changes, guards)
    if (isDone) this.#watchers.notify(notify)
    return isDone
  }

  /** Not async: what waits for the answer would keep the texts of the job. */
  #commit(changes: readonly Change[], { present = [], absent = [], equal = [] }: Guards): Promise<boolean> {
    // Without `flatMap`, which takes microseconds in Node 20.
    const flat: (string | null)[] = []
    for (const [key, value] of changes) flat.push(toName(key), value ?? null)
    return this.#ask<boolean>({
      kind: 'commit',
      changes: flat,
      present: present.map(toName),
      absent: absent.flatMap((prefix) => [toName(prefix), endOf(toName(prefix))]),
      equal: equal.flatMap(([key, value]) => [toName(key), value]),
      dueMs: this.#dueMs(),
    })
  }

  watch(topics: readonly string[], onNotice: () => void): () => void {
    const end = this.#watchers.add(topics, onNotice)
    this.#listen(true)
    return () => {
      end()
      this.#unlistening ??= setTimeout(() => this.#unlisten(), UNLISTEN_AFTER_MS).unref()
    }
  }

  async isServerAlive(serverId: string): Promise<boolean> {
    return this.#heartbeat.isAlive(await this.#ask<Sighting | undefined>({ kind: 'sighting', serverId }))
  }

  async now(): Promise<number> {
    return Date.now()
  }

  async purge(): Promise<void> {
    await this.#ask({ kind: 'purge' })
  }

  /** Returns the damage found in the file. */
  async quickCheck(): Promise<string[]> {
    const lines = await this.#ask<string[]>({ kind: 'quick-check' })
    return lines.filter((line) => line !== 'ok')
  }

  /**
   * Writes a whole copy, as of one instant, while others read and write.
   *
   * @param file absolute path of a file that does not exist
   */
  async backup(file: string): Promise<void> {
    await this.#ask({ kind: 'backup', file })
  }

  /** Returns true while another server has the file open. One in another container, or on another machine, shows it by a new sign. */
  async isShared(): Promise<boolean> {
    const first = new Map<string, Sighting['sign']>()
    for (;;) {
      const sightings = await this.#ask<Sighting[]>({ kind: 'sightings' })
      const others = sightings.filter((each) => each.id !== this.serverId && this.#heartbeat.isAlive(each))
      if (others.length === 0) return false
      for (const { id, process, sign } of others) {
        if (runsHere(process) || (first.get(id) ?? sign) !== sign) return true
        first.set(id, sign)
      }
      await wait(LOOK_AGAIN_MS)
    }
  }

  async close(): Promise<void> {
    this.#thread.beginClosing()
    this.#heartbeat.stop()
    clearTimeout(this.#unlistening)
    if (this.#thread.failure) return
    this.#thread.worker.ref()
    await this.#ask({ kind: 'close', serverId: this.serverId })
    await this.#thread.worker.terminate()
  }

  #listen(isOn: boolean): void {
    if (this.#isListening === isOn) return
    this.#isListening = isOn
    // The next thread learns of it, too.
    this.#ask({ kind: 'watch', isOn }).catch(() => {})
  }

  #unlisten(): void {
    this.#unlistening = undefined
    if (this.#watchers.size === 0) this.#listen(false)
  }

  #dueMs(): number {
    return monotonicMs() + this.#deadlineMs
  }

  #ask<T>(job: SqliteJob): Promise<T> {
    const { failure } = this.#thread
    if (failure) return Promise.reject(failure)
    return new Promise<unknown>((resolve, reject) => {
      this.#jobs.push(job)
      this.#waiting.push({ resolve, reject })
      // Deferred, so that other requests of this turn of the event loop go along.
      if (!this.#asked) this.#asking ??= setImmediate(() => this.#send())
    }) as Promise<T>
  }

  #send(): void {
    this.#asking = undefined
    if (this.#asked || this.#waiting.length === 0) return
    this.#asked = this.#waiting
    this.#waiting = []
    // Only while something is under way does the thread keep the process alive.
    const { worker } = this.#thread
    worker.ref()
    const jobs = this.#jobs
    this.#jobs = []
    worker.postMessage(jobs)
  }

  #onMessage(message: Message): void {
    if ('changed' in message) this.#watchers.notifyAll()
    else if ('early' in message) settle(this.#asked ?? [], message.early)
    else {
      if ('ready' in message) this.#onStarted()
      const asked = this.#asked ?? []
      this.#asked = undefined
      if (this.#waiting.length > 0) this.#send()
      else this.#thread.worker.unref()
      if ('answers' in message) settle(asked, message.answers)
    }
  }

  #onStarted(): void {
    this.#thread.noteReady()
    this.#isListening = false
    if (this.#watchers.size === 0) return
    this.#listen(true)
    // There may have been commits while there was no thread.
    this.#watchers.notifyAll()
  }

  #onEnd(reason: Error): void {
    const asked = this.#asked ?? []
    this.#asked = []
    const { failure } = this.#thread
    // Otherwise they go to the next thread.
    if (failure) {
      this.#jobs = []
      for (const { reject } of this.#waiting.splice(0)) reject(failure)
    }
    const problem = 'the thread of the database ended before it answered: a change may have been written or not'
    for (const { reject } of asked) reject(new Error(`${problem} (${reason.message})`))
  }
}

function settle(asked: readonly Waiting[], answers: readonly (SqliteAnswer | undefined)[]): void {
  asked.forEach(({ resolve, reject }, index) => {
    const answer = answers[index]
    if (!answer) return
    if ('value' in answer) resolve(answer.value)
    else reject(Object.assign(new Error(answer.error), { code: answer.code }))
  })
}

function toName(key: string): string {
  return KEY_PREFIX + key
}

function toKey(name: string): string {
  return name.slice(KEY_PREFIX.length)
}

/** Without what the process preloads: the thread needs none of it, and relative paths in it may lead nowhere by now. */
function startThread(data: SqliteWorkerData): Worker {
  return new Worker(WORKER, { workerData: data, execArgv: [] })
}

/**
 * Creates the file where there is none. One that exists is not opened: closing it would take from other connections of this process their
 * locks, and the next process to leave would remove the log that they write to (https://sqlite.org/howtocorrupt.html, 2.2).
 *
 * @returns its inode
 */
function makePrivate(file: string): number {
  if (!existsSync(file)) closeSync(openSync(file, APPEND, 0o600))
  const stats = statSync(file)
  // Devices keep their mode.
  checkStats(stats)
  chmodSync(file, 0o600)
  return stats.ino
}
