import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HostError } from '../errors.ts'

/**
 * Returns the absolute path of a file of the project, whether it exists or not.
 *
 * @param path relative to the project folder, or absolute
 * @throws HostError `MODULE_INVALID` for a file outside the project folder, once links are followed
 */
export function findProjectFile(projectDir: string, path: string): string {
  const file = resolve(projectDir, path)
  if (isWithin(realPathOf(projectDir), realPathOf(file))) return file
  throw new HostError('MODULE_INVALID', `'${path}' is outside the project folder.`, {
    suggestions: ['Import it in a file of the project, and name that file.'],
  })
}

/** Returns true for a path in a folder, and for that folder itself. */
export function isWithin(folder: string, file: string): boolean {
  const inside = relative(folder, file)
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}

/** Of a file that does not exist: its place in the nearest folder that does. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPathOf(folder), basename(path))
  }
}
