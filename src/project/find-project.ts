import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Finds the project that a command means: the folder itself when it has `agents/`, otherwise the nearest parent that has
 * `agents/` and `package.json`.
 *
 * @param folder absolute
 * @returns undefined outside a project
 */
export function findProject(folder: string): string | undefined {
  return hasAgents(folder) ? folder : findAbove(dirname(folder))
}

function findAbove(folder: string): string | undefined {
  if (hasAgents(folder) && statOf(folder, 'package.json')?.isFile()) return folder
  const parent = dirname(folder)
  return parent === folder ? undefined : findAbove(parent)
}

function hasAgents(folder: string): boolean {
  return statOf(folder, 'agents')?.isDirectory() ?? false
}

function statOf(folder: string, name: string) {
  return statSync(join(folder, name), { throwIfNoEntry: false })
}
