import { messageOf } from '../errors.ts'
import type { Log } from '../protocols/log.ts'
import { appendLog, removeFromLog } from '../store/record-log.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { RunRecord } from '../trace/run-index/run-summary.ts'
import { introduction, makeEntry, NEWS, runLog } from './replica-rows.ts'

/** Delay before a run is published; a shorter run is published once, when it has ended. */
const PUBLISH_MS = 500
/** Maximum runs per commit. */
const BATCH = 200
/** Runs that wait while the store is down; the oldest are left out. */
const MAX_WAITING = 10_000
/** Entries that the log of a server keeps. */
const MAX_ENTRIES = 10_000

/** Reads the summaries of runs of this server. */
type ReadRecords = (ids: readonly string[]) => Promise<readonly RunRecord[]>

/**
 * Publishes the runs of this server to the others: each when it has run for a while, and when it has ended. Each time the server names
 * itself: one that was paused may have been taken for gone, and been forgotten.
 */
export class RunPublisher {
  readonly #name: string
  readonly #read: ReadRecords
  readonly #open: () => Promise<RecordStore>
  readonly #log: Log
  readonly #waiting = new Set<string>()
  #entries = 0
  #timer: NodeJS.Timeout | undefined
  #publishing: Promise<void> = Promise.resolve()
  #hasFailed = false

  constructor(name: string, read: ReadRecords, open: () => Promise<RecordStore>, log: Log) {
    this.#name = name
    this.#read = read
    this.#open = open
    this.#log = log
  }

  /** Takes note of a run that has begun, or ended. */
  note(runId: string): void {
    const [oldest] = this.#waiting
    if (this.#waiting.size >= MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest)
    this.#waiting.add(runId)
    this.#publishSoon()
  }

  /** Resolves when the runs that were read before are published. */
  settled(): Promise<void> {
    return this.#publishing
  }

  /** Publishes the rest, unless the store fails. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#publishing
    this.#hasFailed = false
    while (this.#waiting.size > 0 && !this.#hasFailed) await this.#publish()
    clearTimeout(this.#timer)
  }

  #publishSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#publishing = this.#publishing.then(() => this.#publish())
    }, PUBLISH_MS).unref()
  }

  async #publish(): Promise<void> {
    const ids = [...this.#waiting].slice(0, BATCH)
    for (const id of ids) this.#waiting.delete(id)
    try {
      await this.#commit(await this.#read(ids))
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#log.warn(`Cannot publish the runs of this server to the others: ${messageOf(error)}`)
      this.#hasFailed = true
      for (const id of ids) this.#waiting.add(id)
    }
    if (this.#waiting.size > 0) this.#publishSoon()
  }

  async #commit(records: readonly RunRecord[]): Promise<void> {
    if (records.length === 0) return
    const store = await this.#open()
    const log = runLog(store.serverId)
    const changes = records.flatMap((record) => {
      const number = this.#entries++
      // Positions in the trace files of this server mean nothing to others.
      const added = appendLog(log, number, makeEntry({ ...record, places: '' }))
      return number < MAX_ENTRIES ? [added] : [added, removeFromLog(log, number - MAX_ENTRIES)]
    })
    await store.commit([introduction(store.serverId, this.#name), ...changes], {}, [NEWS])
  }
}
