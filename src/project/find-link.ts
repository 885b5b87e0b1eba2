import { lstat } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns the first part of a path within a folder (with `/`) that is a symbolic link, which may lead out of the folder. */
export async function findLink(folder: string, path: string): Promise<string | undefined> {
  const names = path.split('/')
  for (let length = 1; length <= names.length; length++) {
    const part = names.slice(0, length).join('/')
    const stats = await lstat(join(folder, part)).catch(() => undefined)
    if (stats?.isSymbolicLink()) return part
  }
  return undefined
}
