import { randomUUID } from 'node:crypto'
import { appendFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeUri } from '../decode-uri.ts'
import { tenantPart } from '../durable/rows/tenant-part.ts'
import { RUN_PREFIX, RunIds, secondsOf, uuidOf } from '../durable/runs/run-ids.ts'
import { RUNS_DELETED, rowKey } from '../durable/runs/run-keys.ts'
import { messageOf, systemCodeOf } from '../errors.ts'
import { getOrAdd } from '../get-or-add.ts'
import type { Log } from '../protocols/log.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { RecentlyUsed } from '../recently-used.ts'
import type { AgentRun } from '../run/agent-run.ts'
import type { RecordStore } from '../store/record-store.ts'
import { inTapeFolder, MAX_PART_AGE_MS, TAPE_FOLDER } from './file/tape-folder.ts'
import type { TapeWriter } from './recording/tape-writer.ts'

export interface TapeSweeperOptions {
  readonly projectDir: string
  readonly writer: Pick<TapeWriter, 'has' | 'delete'>
  readonly openRecords: () => Promise<RecordStore>
  readonly log: Log
}

/** Run whose row is stored. */
interface StoredRow {
  /** Without the prefix. */
  readonly id: string
  readonly tenant: string
}

/** Run that a client began, with those that it began itself. */
interface RunFamily {
  /** Their tapes, until the run is stored. */
  tapes: string[]
  row: StoredRow | undefined
}

/**
 * File that names the tapes whose runs are stored, one a line: tenant as in a URL, a space, the id of the run, and behind another space
 * the name of the tape where it is another. In this order a line that was cut off names no tape of another run.
 */
const STORED = 'stored.txt'
/** Files that a server which starts has moved aside, until it has looked for their runs. */
const ASIDE = /^stored\..+\.txt$/
const SWEEP_EVERY_MS = 60 * 60 * 1000
/** Ended runs with a tape of which it is not known yet if they are stored. */
const MAX_ENDED = 10_000
/** Rows that are looked for together. */
const PAGE = 500

/**
 * Deletes the tapes of stored runs that were deleted, with those of the runs that they began: by a request or their retention, on this
 * server or another, also while this one did not run. Opens the store only once a stored run has a tape.
 */
export class TapeSweeper {
  readonly #options: TapeSweeperOptions
  readonly #ids = new RunIds(RUN_PREFIX)
  /** Runs in progress, by id. */
  readonly #running = new Map<string, RunFamily>()
  readonly #ended = new RecentlyUsed<RunFamily>({ maxItems: MAX_ENDED })
  /** Tapes of stored runs, by the id of the run. */
  readonly #stored = new Map<string, { readonly tenant: string; readonly tapes: Set<string> }>()
  /** Files that were moved aside, with their sizes when they were read. */
  readonly #aside = new Map<string, number>()
  #records: Promise<RecordStore> | undefined
  #unwatch: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #work: Promise<void>
  /** True while a sweep waits for the one before: it sees all that is deleted until it begins. */
  #isDue = false

  constructor(options: TapeSweeperOptions) {
    this.#options = options
    this.#work = this.#readStored().catch((error) =>
      options.log.warn(`Tapes of runs deleted before stay: ${this.#folder} cannot be used: ${messageOf(error)}`),
    )
  }

  /** Notes a run that begins. One without a tape may begin others that have one. */
  noteRun({ id, parent }: Pick<AgentRun, 'id' | 'parent'>, hasTape: boolean, result: Promise<unknown>): void {
    const family = this.#running.get(parent?.runId ?? '') ?? { tapes: [], row: undefined }
    this.#running.set(id, family)
    if (hasTape && family.row) this.#addStored(family.row, [id])
    else if (hasTape) family.tapes.push(id)
    const end = () => {
      this.#running.delete(id)
      if (!parent && family.tapes.length > 0) this.#ended.set(id, family)
    }
    result.then(end, end)
  }

  /** Notes a run of this process when its row is stored. @param runId its own id, which names the tape: the row may have another */
  noteStored(id: string, tenant: string, runId: string): void {
    const family = this.#running.get(runId) ?? this.#ended.get(runId)
    if (!family) return
    this.#ended.delete(runId)
    family.row = { id: uuidOf(id), tenant }
    const { tapes } = family
    family.tapes = []
    if (tapes.length > 0) this.#addStored(family.row, tapes)
  }

  #addStored(row: StoredRow, tapes: readonly string[]): void {
    for (const tape of tapes) this.#keep(row, tape)
    try {
      this.#append(tapes.map((tape) => toLine(row, tape)))
    } catch (error) {
      this.#report(error)
    }
    if (!this.#records) this.#sweep()
  }

  #keep({ id, tenant }: StoredRow, tape: string): void {
    getOrAdd(this.#stored, id, () => ({ tenant, tapes: new Set<string>() })).tapes.add(tape)
  }

  #append(lines: readonly string[]): void {
    // Behind a line end: a process that was cut off may have left half a line.
    inTapeFolder(this.#folder, () => appendFileSync(join(this.#folder, STORED), `\n${lines.join('')}`, { mode: 0o600 }))
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

  /** Takes over what was noted before. What other processes note from now on is in a new file, and theirs to look after. */
  async #readStored(): Promise<void> {
    moveIfThere(join(this.#folder, STORED), join(this.#folder, `stored.${randomUUID()}.txt`))
    for (const name of await readdir(this.#folder)) if (ASIDE.test(name)) await this.#readLines(name)
    if (this.#stored.size > 0) this.#sweep()
    else this.#bringBack()
  }

  async #readLines(name: string): Promise<void> {
    const path = join(this.#folder, name)
    try {
      const bytes = await readRegularFile(path)
      for (const line of bytes.toString().split('\n')) this.#readLine(line)
      this.#aside.set(path, bytes.length)
    } catch (error) {
      // Another process has brought its lines back.
      if (systemCodeOf(error) === 'ENOENT') return
      this.#options.log.warn(`Tapes of runs deleted before stay: ${path} cannot be read: ${messageOf(error)}`)
    }
  }

  #readLine(line: string): void {
    const [tenant = '', id = '', tape = id] = line.split(' ')
    const row = { id, tenant: decodeUri(tenant) }
    // A line that is damaged names no tenant, or no run: its tape stays.
    const isWhole = this.#ids.isId(RUN_PREFIX + id) && toLine(row, decodeUri(tape)) === `${line}\n`
    if (isWhole && this.#mayCome(id, decodeUri(tape))) this.#keep(row, decodeUri(tape))
  }

  /** True for a tape that is there, and for one that another process may still write: its part is kept no longer than that, either. */
  #mayCome(id: string, tape: string): boolean {
    return secondsOf(id) * 1000 > Date.now() - MAX_PART_AGE_MS || this.#options.writer.has(tape)
  }

  /** Notes what is left of what was moved aside, and removes it. */
  #bringBack(): void {
    if (this.#aside.size === 0) return
    const left = [...this.#stored].flatMap(([id, { tenant, tapes }]) =>
      [...tapes].map((tape) => toLine({ id, tenant }, tape)),
    )
    this.#append(left)
    for (const [path, size] of this.#aside) {
      // One that has grown since has lines that were not read: the next start reads it.
      if (statSync(path, { throwIfNoEntry: false })?.size === size) rmSync(path, { force: true })
    }
    this.#aside.clear()
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
    const known = [...this.#stored].map(([id, { tenant }]) => ({ id, tenant }))
    for (let from = 0; from < known.length; from += PAGE) {
      const gone = new Map<string, readonly string[]>()
      for (const [tenant, ids] of groupByTenant(known.slice(from, from + PAGE))) {
        const rows = await tenantPart(records, tenant).get(ids.map((id) => rowKey(RUN_PREFIX + id)))
        ids.forEach((id, index) => {
          if (rows[index] === undefined) gone.set(id, [...(this.#stored.get(id)?.tapes ?? [])])
        })
      }
      // Before their lines go; where one cannot be deleted, the next sweep tries again.
      if (gone.size > 0) await this.#options.writer.delete([...gone.values()].flat())
      for (const [id, tapes] of gone) this.#forget(id, tapes)
    }
    this.#bringBack()
  }

  #forget(id: string, deleted: readonly string[]): void {
    const tapes = this.#stored.get(id)?.tapes
    for (const tape of deleted) tapes?.delete(tape)
    // Others may have been noted meanwhile.
    if (tapes?.size === 0) this.#stored.delete(id)
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

  get #folder(): string {
    return join(this.#options.projectDir, TAPE_FOLDER)
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error
  }
}

function toLine({ id, tenant }: StoredRow, tape: string): string {
  return `${encodeURIComponent(tenant)} ${id}${tape === id ? '' : ` ${encodeURIComponent(tape)}`}\n`
}

function groupByTenant(rows: readonly StoredRow[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { id, tenant } of rows) getOrAdd(groups, tenant, (): string[] => []).push(id)
  return groups
}
