import { constants, open } from 'node:fs/promises'
import { pathOfTape } from './tape-folder.ts'

/** A link in the folder would have files elsewhere read. Windows does not have the flag. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

/** A piece of the file of a tape. */
export interface TapePiece {
  readonly bytes: Uint8Array
  /** Of the whole file. */
  readonly totalBytes: number
  /** The same for all pieces of one file: a tape may be replaced while it is read. */
  readonly version: string
}

/** Reads a piece of a tape; undefined where there is no tape of this run. */
export async function readTapePiece(
  projectDir: string,
  runId: string,
  { offset, maxBytes }: { readonly offset: number; readonly maxBytes: number },
): Promise<TapePiece | undefined> {
  const file = await open(pathOfTape(projectDir, runId), READ).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ELOOP') return undefined
    throw error
  })
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
