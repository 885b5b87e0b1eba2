import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/**
 * Reads a regular file only: a named pipe would be read for ever.
 *
 * @throws Error `EISDIR`, `ENOENT`, ... as Node does
 */
export async function readRegularFile(path: string): Promise<Buffer> {
  // Without O_NONBLOCK opening a pipe already waits for its writer. Windows does not have the flag.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await file.stat()
    if (!stats.isFile() && !stats.isDirectory()) throw new Error('it is not a regular file')
    return await file.readFile()
  } finally {
    await file.close()
  }
}
