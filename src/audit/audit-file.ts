import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'

const MAX_BYTES = 64 * 1024 * 1024
const NEWLINE = 0x0a
const OTHERS = 0o077
/** Looks at a line that another process may be writing: a file grows page by page. */
const MAX_LOOKS = 1000

/**
 * A file of lines that several processes append to. A file that is full is renamed, and another begins: none is ever deleted. It is opened for each line,
 * so a file that was moved or removed, by another process or by `logrotate`, takes no line along.
 */
export class AuditFile {
  readonly path: string
  readonly #maxBytes: number

  constructor(path: string, maxBytes = MAX_BYTES) {
    this.path = path
    this.#maxBytes = maxBytes
  }

  /**
   * Appends one line or several with one write, so that no other process can write into them.
   *
   * @throws Error of the system
   */
  append(text: string): void {
    const { fd, isOpenEnded } = this.#open()
    try {
      const bytes = Buffer.from(`${isOpenEnded ? '\n' : ''}${text}\n`)
      if (writeSync(fd, bytes) < bytes.length) throw new Error('The disk has no room for the whole line.')
    } finally {
      closeSync(fd)
    }
  }

  /** @returns isOpenEnded: true after a line that its writer could not finish */
  #open(): { readonly fd: number; readonly isOpenEnded: boolean } {
    const fd = openSync(this.path, 'a+', 0o600)
    const stats = fstatSync(fd)
    // Pipes and terminals have neither size nor mode of their own.
    if (!stats.isFile()) return { fd, isOpenEnded: false }
    if (stats.size < this.#maxBytes) return { fd, isOpenEnded: check(fd, stats) }
    closeSync(fd)
    this.#rotate(stats)
    return { fd: openSync(this.path, 'a+', 0o600), isOpenEnded: false }
  }

  /** Of several processes that find it full one renames it: the others find another file, or a young one that is renamed early, which loses nothing. */
  #rotate({ ino }: Stats): void {
    const time = new Date().toISOString().replaceAll(':', '-')
    try {
      if (statSync(this.path).ino === ino) renameSync(this.path, `${this.path}.${time}-${randomUUID().slice(0, 8)}`)
    } catch {
      // Windows renames no file that another process has open: a later line does it.
    }
  }
}

/** Takes the file away from others. @returns true where its last line has no end */
function check(fd: number, { mode }: Stats): boolean {
  try {
    if ((mode & OTHERS) !== 0 && process.platform !== 'win32') fchmodSync(fd, 0o600)
    for (let look = 0; look < MAX_LOOKS; look++) if (hasEnd(fd)) return false
    return true
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function hasEnd(fd: number): boolean {
  const { size } = fstatSync(fd)
  const last = Buffer.alloc(1)
  return size === 0 || readSync(fd, last, 0, 1, size - 1) !== 1 || last[0] === NEWLINE
}
