import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemCodeOf } from '../../errors.ts'

/** Folder of the tapes, relative to the project. */
export const TAPE_FOLDER = 'debug/tapes'
export const TAPE_ENDING = '.jsonl.gz'
/** Of files that are being written. */
export const PART_ENDING = '.part'
/** Older parts belong to a process that is gone. */
export const MAX_PART_AGE_MS = 2 * 24 * 60 * 60 * 1000
/** Share of the limit that deleting leaves: files are not looked at again for each tape. */
const KEPT_SHARE = 0.9

/** Name of a tape's file. Ids of runs are UUIDs; a program may choose others. */
export function tapeFile(runId: string): string {
  return `${encodeURIComponent(runId)}${TAPE_ENDING}`
}

/** Path of the tape of a run. */
export function pathOfTape(projectDir: string, runId: string): string {
  return join(projectDir, TAPE_FOLDER, tapeFile(runId))
}

/** The id of the run whose tape this file is; undefined for another file. */
export function runOfFile(name: string): string | undefined {
  if (!name.endsWith(TAPE_ENDING)) return undefined
  try {
    return decodeURIComponent(name.slice(0, -TAPE_ENDING.length))
  } catch {
    return undefined
  }
}

/** Creates a folder of tapes, for the owner alone. */
function makeTapeFolder(dir: string): void {
  for (const folder of [join(dir, '..'), dir]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
  }
}

/** Writes to a folder of tapes; if the folder was removed, creates it and writes again. */
export function inTapeFolder<T>(dir: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error
    makeTapeFolder(dir)
    return act()
  }
}

/** The files of a folder of tapes, which together stay within a limit: the oldest are deleted. */
export class TapeFolder {
  readonly dir: string
  readonly #maxBytes: number
  #bytes = 0
  /** Names of the files that others were writing at the last look: of a process that was killed, they stay. */
  #parts: string[] = []

  /** @param dir absolute; it is created */
  constructor(dir: string, maxBytes: number) {
    this.dir = dir
    this.#maxBytes = maxBytes
    makeTapeFolder(dir)
    this.#makeRoom()
  }

  pathOf(runId: string): string {
    return join(this.dir, tapeFile(runId))
  }

  /** A larger tape would be deleted as soon as it is there. */
  get maxTapeBytes(): number {
    return this.#maxBytes * KEPT_SHARE
  }

  /** Counts a new tape. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) this.#makeRoom()
  }

  /** Removes a tape, with what others have written of it. */
  remove(runId: string): void {
    const parts = this.#parts.filter((name) => name.startsWith(`${tapeFile(runId)}.`))
    for (const name of [...parts, tapeFile(runId)]) rmSync(join(this.dir, name), { force: true })
  }

  /** Other processes may write here, too: what counts is what is there. */
  #makeRoom(): void {
    this.#parts = []
    const files = this.#list()
    this.#bytes = files.reduce((sum, { size }) => sum + size, 0)
    if (this.#bytes <= this.#maxBytes) return
    for (const { path, size } of files.sort((a, b) => a.changedMs - b.changedMs)) {
      if (this.#bytes <= this.#maxBytes * KEPT_SHARE) return
      rmSync(path, { force: true })
      this.#bytes -= size
    }
  }

  #list(): { path: string; size: number; changedMs: number }[] {
    return readdirSync(this.dir).flatMap((name) => {
      const path = join(this.dir, name)
      const stats = lstatSync(path, { throwIfNoEntry: false })
      if (!stats?.isFile()) return []
      if (name.endsWith(PART_ENDING)) {
        if (Date.now() - stats.mtimeMs > MAX_PART_AGE_MS) rmSync(path, { force: true })
        else this.#parts.push(name)
        return []
      }
      return runOfFile(name) === undefined ? [] : [{ path, size: stats.size, changedMs: stats.mtimeMs }]
    })
  }
}
