import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeUri } from '../decode-uri.ts'
import { tenantPart } from '../durable/rows/tenant-part.ts'
import { RUN_PREFIX, RunIds } from '../durable/runs/run-ids.ts'
import { RUNS_DELETED, rowKey } from '../durable/runs/run-keys.ts'
import { messageOf, systemCodeOf } from '../errors.ts'
import type { Log } from '../protocols/log.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { RecentlyUsed } from '../recently-used.ts'
import type { RecordStore } from '../store/record-store.ts'
import { TAPE_FOLDER } from './file/tape-folder.ts'
import type { TapeWriter } from './recording/tape-writer.ts'

export interface TapeSweeperOptions {
  readonly projectDir: string
  readonly writer: TapeWriter
  readonly openRecords: () => Promise<RecordStore>
  readonly log: Log
}

/** File that names the tapes whose runs are stored, one a line: tenants as in a URL, a space, the id. */
const STORED = 'stored.txt'
const SWEEP_EVERY_MS = 60 * 60 * 1000
/** Runs with a tape of which it is not known yet if they are stored: more than run at once. */
const MAX_TAPED = 10_000
/** Rows that are looked for together. */
const PAGE = 500

/**
 * Deletes the tapes of stored runs that were deleted: by a request or their retention, on this server or another, also while this one
 * did not run. Opens the store only once a stored run has a tape.
 */
export class TapeSweeper {
  readonly #options: TapeSweeperOptions
  readonly #ids = new RunIds(RUN_PREFIX)
  /** Tenants of the stored runs that have a tape, by id. */
  readonly #stored = new Map<string, string>()
  /** Others that have one. */
  readonly #taped = new RecentlyUsed<true>({ maxItems: MAX_TAPED })
  #records: Promise<RecordStore> | undefined
  #unwatch: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #work: Promise<void>
  /** True while a sweep waits for the one before: it sees all that is deleted until it begins. */
  #isDue = false

  constructor(options: TapeSweeperOptions) {
    this.#options = options
    this.#work = this.#readStored().catch((error) =>
      options.log.warn(`Tapes of runs deleted before stay: ${this.#file} cannot be read: ${messageOf(error)}`),
    )
  }

  /** Notes a run that has a tape, before it is stored. */
  noteTape(runId: string): void {
    if (this.#ids.isId(RUN_PREFIX + runId)) this.#taped.set(runId, true)
  }

  /** Notes a run of this process when its row is stored. */
  noteStored(id: string, tenant: string): void {
    const runId = id.slice(RUN_PREFIX.length)
    if (!this.#taped.get(runId)) return
    this.#taped.delete(runId)
    this.#stored.set(runId, tenant)
    try {
      // Behind a line end: a process that was cut off may have left half a line.
      appendFileSync(this.#file, `\n${toLine(runId, tenant)}`, { mode: 0o600 })
    } catch (error) {
      this.#report(error)
    }
    if (!this.#records) this.#sweep()
  }

  async close(): Promise<void> {
    // It may begin more work, and with the store what is ended below.
    for (let done: Promise<void> | undefined; done !== this.#work; ) {
      done = this.#work
      await done
    }
    clearInterval(this.#timer)
    this.#unwatch?.()
    const records = await this.#records?.catch(() => undefined)
    await records?.close()
  }

  /** Reads the file of stored runs, and writes it again without those whose tapes are gone. */
  async #readStored(): Promise<void> {
    const text = await readIfThere(this.#file)
    for (const line of text.split('\n')) {
      const [written = '', runId = ''] = line.split(' ')
      const tenant = decodeUri(written)
      // A line that is damaged names no tenant: its tape stays.
      const isWhole = runId !== '' && toLine(runId, tenant) === `${line}\n`
      if (isWhole && this.#options.writer.has(runId)) this.#stored.set(runId, tenant)
    }
    const kept = [...this.#stored].map(([runId, tenant]) => toLine(runId, tenant)).join('')
    // At once: runs that are stored meanwhile add lines.
    if (kept !== text) writeFileSync(this.#file, kept, { mode: 0o600 })
    if (kept !== '') this.#sweep()
  }

  #sweep(): void {
    if (this.#isDue) return
    this.#isDue = true
    const work = this.#work.then(() => {
      this.#isDue = false
      return this.#removeDeleted()
    })
    this.#work = work.catch((error) => this.#report(error))
  }

  #report(error: unknown): void {
    this.#options.log.warn(`Tapes of deleted runs are not deleted yet: ${messageOf(error)}`)
  }

  async #removeDeleted(): Promise<void> {
    const records = await this.#open()
    const known = [...this.#stored]
    for (let from = 0; from < known.length; from += PAGE) {
      const gone: string[] = []
      for (const [tenant, runIds] of groupByTenant(known.slice(from, from + PAGE))) {
        const rows = await tenantPart(records, tenant).get(runIds.map((runId) => rowKey(RUN_PREFIX + runId)))
        runIds.forEach((runId, index) => {
          if (rows[index] === undefined && this.#stored.delete(runId)) gone.push(runId)
        })
      }
      if (gone.length > 0) this.#options.writer.delete(gone)
    }
  }

  #open(): Promise<RecordStore> {
    this.#records ??= this.#options.openRecords().then((records) => {
      this.#unwatch = records.watch([RUNS_DELETED], () => this.#sweep())
      this.#timer = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref()
      return records
    })
    this.#records.catch(() => {
      this.#records = undefined
    })
    return this.#records
  }

  get #file(): string {
    return join(this.#options.projectDir, TAPE_FOLDER, STORED)
  }
}

async function readIfThere(path: string): Promise<string> {
  try {
    return String(await readRegularFile(path))
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return ''
    throw error
  }
}

function toLine(runId: string, tenant: string): string {
  return `${encodeURIComponent(tenant)} ${runId}\n`
}

function groupByTenant(runs: readonly (readonly [runId: string, tenant: string])[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const [runId, tenant] of runs) {
    const group = groups.get(tenant)
    if (group) group.push(runId)
    else groups.set(tenant, [runId])
  }
  return groups
}
