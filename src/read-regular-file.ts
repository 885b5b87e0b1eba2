import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import { object, optional, POSITIVE, requireGiven, TEXT } from './given.ts'

/** Limits of {@link readRegularFile}. */
export interface ReadFileLimits {
  /** A larger file is refused. Default: 64 MiB. */
  readonly maxBytes?: number
  /** Folder that the file may not leave by a link: an absolute path without links. Default: a link may lead anywhere. */
  readonly within?: string
}

const LIMITS = object({ maxBytes: optional(POSITIVE), within: optional(TEXT) })
const MAX_BYTES = 64 * 1024 * 1024
/** Room for files that have no size. */
const MIN_BYTES = 1024
/** Without O_NONBLOCK opening a pipe already waits for its other end. Windows does not have the flag. */
const NO_WAIT = constants.O_NONBLOCK ?? 0
const READ = constants.O_RDONLY | NO_WAIT
/** Creates the file, if there is none. */
export const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | NO_WAIT
/** A link is not opened. Windows does not have the flag. */
export const NO_LINKS = constants.O_NOFOLLOW ?? 0

/**
 * Reads a regular file only, or a link to one: a named pipe would be read for ever, and a device has no end.
 *
 * @throws Error `EISDIR`, `ENOENT`, ... as Node does, and one without a code for anything else that is refused
 *
 * @example
 * ```ts
 * export function readWithin(folder: string, path: string): Promise<Buffer> {
 *   return readRegularFile(path, { maxBytes: 1024 * 1024, within: folder })
 * }
 * ```
 */
export async function readRegularFile(path: string, limits: ReadFileLimits = {}): Promise<Buffer> {
  requireGiven(TEXT, path, 'path')
  requireGiven(LIMITS, limits, 'limits')
  const { maxBytes = MAX_BYTES } = limits
  const { file, size } = await openSized(path, limits)
  try {
    const bytes = await readToEnd(file, size, maxBytes)
    if (bytes.length > maxBytes) throw tooLarge(maxBytes)
    return bytes
  } finally {
    await file.close()
  }
}

/** Not `readFile`: a file may grow while it is read, and those of /proc have no size. */
async function readToEnd(file: FileHandle, size: number, maxBytes: number): Promise<Buffer> {
  // No larger than the file: many are read at once, and what is allocated outside of the heap has it collected early.
  let bytes = Buffer.allocUnsafe(Math.max(size + 1, MIN_BYTES))
  let length = 0
  while (length <= maxBytes) {
    if (length === bytes.length) bytes = Buffer.concat([bytes], 2 * length)
    const { bytesRead } = await file.read(bytes, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return bytes.subarray(0, length)
}

/**
 * As {@link readRegularFile}, for small files and for threads that may wait.
 *
 * @param flags further ones of `open`
 */
export function readRegularFileSync(path: string, maxBytes = MAX_BYTES, flags = 0): Buffer {
  const descriptor = openSync(path, READ | flags)
  try {
    checkStats(fstatSync(descriptor), maxBytes)
    return readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Opens what {@link readRegularFile} reads, for the same errors. The caller closes it. */
export async function openRegularFile(path: string, limits: ReadFileLimits = {}): Promise<FileHandle> {
  return (await openSized(path, limits)).file
}

async function openSized(path: string, limits: ReadFileLimits): Promise<{ file: FileHandle; size: number }> {
  const file = await open(path, READ)
  try {
    return { file, size: await check(file, path, limits) }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Checks what was opened: a look before may be at another file. @returns its size in bytes */
async function check(
  file: FileHandle,
  path: string,
  { maxBytes = MAX_BYTES, within }: ReadFileLimits,
): Promise<number> {
  const stats = await file.stat()
  checkStats(stats, maxBytes)
  if (within === undefined) return stats.size
  const place = await placeOf(file, path)
  if (!place?.startsWith(within.endsWith(sep) ? within : within + sep))
    throw new Error('a link leads out of its folder')
  return stats.size
}

/** @throws Error `EISDIR`, and one without a code for anything else that is no regular file of this size */
export function checkStats(stats: Stats, maxBytes = Infinity): void {
  if (stats.isDirectory()) throw Object.assign(new Error('EISDIR: it is a directory'), { code: 'EISDIR' })
  if (!stats.isFile()) throw new Error('it is not a regular file')
  if (stats.size > maxBytes) throw tooLarge(maxBytes)
}

/** Path of an opened file. Linux knows it of the descriptor; elsewhere the path is followed again, and must lead to the same file. */
async function placeOf(file: FileHandle, path: string): Promise<string | undefined> {
  const known = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined)
  if (known !== undefined) return known
  const place = await realpath(path)
  const [opened, found] = await Promise.all([file.stat(), lstat(place)])
  return opened.ino === found.ino && opened.dev === found.dev ? place : undefined
}

function tooLarge(maxBytes: number): Error {
  return new Error(`it has more than ${maxBytes} bytes`)
}
