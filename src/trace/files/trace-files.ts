import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { encodeUri } from '../../decode-uri.ts'
import { isReservedFileName } from '../../definition/reserved-file-name.ts'
import { NO_LINKS } from '../../read-regular-file.ts'

const { O_APPEND, O_CREAT, O_RDONLY, O_RDWR } = constants
/** A link in the folder would have files elsewhere read or written, and a named pipe would be waited for. Windows does not have the flags. */
const OWN_FILE = NO_LINKS | (constants.O_NONBLOCK ?? 0)
const READ = O_RDONLY | OWN_FILE
const APPEND = O_APPEND | O_CREAT | O_RDWR | OWN_FILE
/** No file system takes longer names: questions may be about agents of any name. */
const MAX_NAME_CHARS = 255
const ENDING = '.jsonl'
/** Files kept open for writing. */
const MAX_OPEN = 64

interface OpenFile {
  readonly descriptor: number
  readonly inode: number
}

/**
 * The files of a trace folder, `<agent id>.jsonl` and the generation before it, `<agent id>.jsonl.1`; those of a tenant are
 * `<agent id>@<tenant>.jsonl`, those of evals `<agent id>@@evals.jsonl`. Agents whose ids differ only in case share a file, since they would on many file systems. Several processes may append at once.
 */
export class TraceFiles {
  readonly dir: string
  readonly #open = new Map<string, OpenFile>()
  /** By the name in lower case. */
  readonly #names = new Map<string, string>()

  readonly #platform: NodeJS.Platform

  /** @param dir absolute; it is created, for the owner alone */
  constructor(dir: string, platform: NodeJS.Platform = process.platform) {
    this.dir = dir
    this.#platform = platform
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    chmodSync(dir, 0o700)
    for (const { name } of this.list()) this.#names.set(name.toLowerCase(), name)
  }

  nameOf(agentId: string, tenant: string): string {
    const name = `${this.#toFileName(agentId)}${toSuffix(tenant)}${ENDING}`
    return this.#names.get(name.toLowerCase()) ?? name
  }

  /** Name of the file for runs of evals. The file of no tenant ends so: its `@` would be encoded. */
  evalNameOf(agentId: string, tenant: string): string {
    const name = this.nameOf(agentId, tenant)
    return `${name.slice(0, -ENDING.length)}@@evals${ENDING}`
  }

  /** The names of an agent's files, of all tenants and of evals: of each the file, or the generation before it, is there. */
  namesOf(agentId: string): string[] {
    const name = this.nameOf(agentId, '')
    const start = `${name.slice(0, -ENDING.length)}@`
    const latest = readdirSync(this.dir).map((file) => file.replace(/\.1$/, ''))
    return [...new Set(latest)].filter((file) => file === name || (file.startsWith(start) && file.endsWith(ENDING)))
  }

  #toFileName(agentId: string): string {
    if (this.#platform !== 'win32' || !isReservedFileName(agentId)) return encodeUri(agentId)
    // `con` -> `%63on`: letters are never encoded otherwise.
    return `%${agentId.charCodeAt(0).toString(16)}${encodeUri(agentId.slice(1))}`
  }

  path(name: string): string {
    return join(this.dir, name)
  }

  /** The files that are there, older generations first. */
  list(): { name: string; size: number; inode: number }[] {
    const names = readdirSync(this.dir).filter((name) => /\.jsonl(\.1)?$/.test(name))
    const older = (name: string) => (name.endsWith('.1') ? 0 : 1)
    return names
      .sort((a, b) => older(a) - older(b) || (a < b ? -1 : 1))
      .flatMap((name) => {
        const facts = this.stat(name)
        return facts ? [{ name, ...facts }] : []
      })
  }

  /** Undefined for a file that is not there. */
  stat(name: string): { size: number; inode: number } | undefined {
    if (name.length > MAX_NAME_CHARS) return undefined
    const stats = lstatSync(this.path(name), { throwIfNoEntry: false })
    return stats?.isFile() ? { size: stats.size, inode: stats.ino } : undefined
  }

  /**
   * Appends whole lines.
   *
   * @throws Error of the file system; readers skip the partial line that may have been written
   */
  append(name: string, bytes: Uint8Array): void {
    const { descriptor } = this.#openForWriting(name)
    try {
      // In one write: those of several processes do not run into each other then.
      for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written)
    } catch (error) {
      // Reopened, so that a partial line is ended first.
      this.forget(name)
      throw error
    }
  }

  /** Removes both generations of a file. */
  remove(name: string): void {
    this.forget(name)
    for (const each of [name, `${name}.1`]) rmSync(this.path(each), { force: true })
  }

  /** Has a file opened again at the next write. */
  forget(name: string): void {
    const open = this.#open.get(name)
    this.#open.delete(name)
    if (open) closeSync(open.descriptor)
  }

  close(): void {
    for (const name of [...this.#open.keys()]) this.forget(name)
  }

  #openForWriting(name: string): OpenFile {
    const known = this.#open.get(name)
    // It may have been moved aside by another process, or removed.
    if (known && this.stat(name)?.inode === known.inode) return known
    if (known) this.forget(name)
    for (const [oldest] of this.#open) if (this.#open.size >= MAX_OPEN) this.forget(oldest)
    const descriptor = openToAppend(this.path(name))
    const { ino, size } = fstatSync(descriptor)
    const opened = { descriptor, inode: ino }
    this.#open.set(name, opened)
    this.#names.set(name.toLowerCase(), name)
    if (size > 0 && !endsLine(descriptor, size)) writeSync(descriptor, '\n')
    return opened
  }
}

/** Tenants whose names differ only in case have files of their own. */
function toSuffix(tenant: string): string {
  const name = encodeUri(tenant).replace(/[A-Z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
  return tenant === '' ? '' : `@${name}`
}

/** A process that was cut off may have left half a line. */
function endsLine(descriptor: number, size: number): boolean {
  const last = Buffer.alloc(1)
  readSync(descriptor, last, 0, 1, size - 1)
  return last[0] === 0x0a
}

function openToAppend(path: string): number {
  const descriptor = openSync(path, APPEND, 0o600)
  if (fstatSync(descriptor).isFile()) return descriptor
  closeSync(descriptor)
  throw new Error(`${path} is not a regular file.`)
}

/** Makes a file of a trace folder, for the owner alone, where it is not there. @throws Error where something else has its name */
export function touchFile(path: string): void {
  closeSync(openToAppend(path))
}

/** Opens a file of a trace folder. The caller closes it. */
export function openToRead(path: string): number {
  return openSync(path, READ)
}

/** The texts at these places of one file, in order; undefined if unreadable. Neighbours are read together. */
export function readAt(path: string, places: readonly { offset: number; length: number }[]): (string | undefined)[] {
  const descriptor = openToRead(path)
  try {
    return [...groupNear(places)].flatMap((group) => {
      const first = group[0]?.offset ?? 0
      const last = group.at(-1) ?? { offset: 0, length: 0 }
      const bytes = Buffer.allocUnsafe(last.offset + last.length - first)
      const read = readSync(descriptor, bytes, 0, bytes.length, first)
      return group.map(({ offset, length }) => {
        const from = offset - first
        return from + length <= read ? bytes.toString('utf8', from, from + length) : undefined
      })
    })
  } finally {
    closeSync(descriptor)
  }
}

/** Puts spaces in the place of lines: those behind them, and what others append meanwhile, stay where they are. */
export function blankAt(path: string, places: readonly { offset: number; length: number }[]): void {
  const descriptor = openSync(path, constants.O_WRONLY | OWN_FILE)
  try {
    for (const { offset, length } of places) writeSync(descriptor, Buffer.alloc(length, ' '), 0, length, offset)
  } finally {
    closeSync(descriptor)
  }
}

const NEAR_BYTES = 16 * 1024
const MAX_GROUP_BYTES = 4 * 1024 * 1024

function* groupNear<P extends { offset: number; length: number }>(places: readonly P[]): Generator<P[]> {
  let group: P[] = []
  for (const place of places) {
    const first = group[0]?.offset ?? 0
    const last = group.at(-1)
    const isNear =
      last !== undefined &&
      place.offset >= last.offset &&
      place.offset - last.offset - last.length <= NEAR_BYTES &&
      place.offset + place.length - first <= MAX_GROUP_BYTES
    if (!isNear && group.length > 0) {
      yield group
      group = []
    }
    group.push(place)
  }
  if (group.length > 0) yield group
}

const TAIL_CHUNK = 256 * 1024

/** The whole lines of a file from its end backwards, within `maxBytes`. */
export function* linesFromEnd(path: string, maxBytes: number): Generator<string> {
  const descriptor = openToRead(path)
  try {
    let end = fstatSync(descriptor).size
    const stop = Math.max(0, end - maxBytes)
    let rest: Buffer = Buffer.alloc(0)
    while (end > stop) {
      const start = Math.max(stop, end - TAIL_CHUNK)
      const chunk = Buffer.allocUnsafe(end - start)
      readSync(descriptor, chunk, 0, chunk.length, start)
      const bytes = Buffer.concat([chunk, rest])
      let lineEnd = bytes.length
      for (let at = bytes.lastIndexOf(0x0a); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(0x0a, at - 1)) {
        if (at + 1 < lineEnd) yield bytes.toString('utf8', at + 1, lineEnd)
        lineEnd = at
      }
      rest = bytes.subarray(0, lineEnd)
      end = start
    }
    if (stop === 0 && rest.length > 0) yield rest.toString('utf8')
  } finally {
    closeSync(descriptor)
  }
}
