import { type FileHandle, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCodeOf } from '../../errors.ts'
import { openRegularFile } from '../../read-regular-file.ts'
import { pathOfTape } from './tape-folder.ts'

/** A piece of the file of a tape. */
export interface TapePiece {
  readonly bytes: Uint8Array
  /** Of the whole file. */
  readonly totalBytes: number
  /** The same for all pieces of one file: a tape may be replaced while it is read. */
  readonly version: string
}

/** Opens the tape of a run, for the caller to close; undefined where there is none. A link out of the folder is none, nor is what is no file. */
export async function openTape(projectDir: string, runId: string): Promise<FileHandle | undefined> {
  const path = pathOfTape(projectDir, runId)
  try {
    return await openRegularFile(path, { maxBytes: Infinity, within: await realpath(dirname(path)) })
  } catch (error) {
    if (NONE.has(systemCodeOf(error))) return undefined
    throw error
  }
}

/** Of a file that is not there, of a circle of links, and of what is refused. */
const NONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ELOOP', 'EISDIR', 'ENXIO', undefined])

/** Reads a piece of a tape; undefined where there is no tape of this run. */
export async function readTapePiece(
  projectDir: string,
  runId: string,
  { offset, maxBytes }: { readonly offset: number; readonly maxBytes: number },
): Promise<TapePiece | undefined> {
  const file = await openTape(projectDir, runId)
  if (!file) return undefined
  try {
    const { size, mtimeMs, ino } = await file.stat()
    const bytes = Buffer.alloc(Math.max(0, Math.min(maxBytes, size - offset)))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, offset)
    return { bytes: bytes.subarray(0, bytesRead), totalBytes: size, version: `${ino}-${mtimeMs}` }
  } finally {
    await file.close()
  }
}
