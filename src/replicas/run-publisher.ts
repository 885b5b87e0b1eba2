import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import type { Log } from '../protocols/log.ts'
import { appendLog, removeFromLog } from '../store/record-log.ts'
import type { RecordStore } from '../store/record-store.ts'
import type { RunRecord } from '../trace/run-index/run-summary.ts'
import { introduction, makeEntry, NEWS, runLog } from './replica-rows.ts'

/** Delay before a run is published; a shorter run is published once, when it has ended. */
const PUBLISH_MS = 500
/** Tries to read a run as it is now, beside the first: another process may index the folder of both, which looks around every second. */
const MAX_TRIES = 6
/** Time between them when the server stops. */
const STOPPING_MS = 250
/** Maximum runs per commit. */
const BATCH = 200
/** Runs that wait while the store is down; the oldest are left out. */
const MAX_WAITING = 10_000
/** Entries that the log of a server keeps. */
const MAX_ENTRIES = 10_000

/** Reads the summaries of runs of this server. */
type ReadRecords = (ids: readonly string[]) => Promise<readonly RunRecord[]>

interface NotedRun {
  readonly hasEnded: boolean
  readonly tries: number
}

/**
 * Publishes the runs of this server to the others: each when it has run for a while, and when it has ended. Each time the server names
 * itself: one that was paused may have been taken for gone, and been forgotten.
 */
export class RunPublisher {
  readonly #name: string
  readonly #read: ReadRecords
  readonly #open: () => Promise<RecordStore>
  readonly #log: Log
  readonly #waiting = new Map<string, NotedRun>()
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
  note(runId: string, hasEnded = false): void {
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size >= MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest)
    this.#waiting.set(runId, { hasEnded, tries: 0 })
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
    clearTimeout(this.#timer)
    this.#hasFailed = false
    while (this.#waiting.size > 0 && !this.#hasFailed) if (await this.#publish()) await wait(STOPPING_MS)
    clearTimeout(this.#timer)
  }

  #publishSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#publishing = this.#publishing.then(async () => {
        await this.#publish()
        if (this.#waiting.size > 0) this.#publishSoon()
      })
    }, PUBLISH_MS).unref()
  }

  /** @returns whether some could not be read as they are now */
  async #publish(): Promise<boolean> {
    const noted = new Map([...this.#waiting].slice(0, BATCH))
    for (const id of noted.keys()) this.#waiting.delete(id)
    let again = noted
    try {
      const records = new Map((await this.#read([...noted.keys()])).map((record) => [record.summary.run_id, record]))
      again = new Map([...noted].filter(([id, run]) => isBehind(run, records.get(id))))
      await this.#commit([...records.values()].filter(({ summary }) => !again.has(summary.run_id)))
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#log.warn(`Cannot publish the runs of this server to the others: ${messageOf(error)}`)
      this.#hasFailed = true
      again = noted
    }
    for (const [id, { hasEnded, tries }] of again) {
      if (!this.#waiting.has(id)) this.#waiting.set(id, { hasEnded, tries: tries + 1 })
    }
    return again.size > 0
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

/** True for a run that the index does not have yet, or not to its end, and that may still be waited for. */
function isBehind({ hasEnded, tries }: NotedRun, record: RunRecord | undefined): boolean {
  const isOpen = record?.summary.status === 'running' || record?.summary.status === 'interrupted'
  return tries < MAX_TRIES && (!record || (hasEnded && isOpen))
}
