import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { HostError, messageOf, systemCodeOf } from '../../errors.ts'

/** The agent files below a folder (absolute paths), without hidden ones and those of installed packages. */
export async function listAgentFiles(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { recursive: true, withFileTypes: true })
    const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
    return paths.filter((path) => isAgentFile(relative(dir, path))).sort()
  } catch (cause) {
    const code = systemCodeOf(cause)
    const missing = code === 'ENOENT'
    const message = missing
      ? 'is not there'
      : code === 'ENOTDIR'
        ? 'is not a folder'
        : `cannot be read: ${messageOf(cause)}`
    const suggestions = missing ? ['`agent-host init <name>` makes a project; --agent-dir names another folder.'] : []
    throw new HostError('PROJECT_INVALID', `The agent folder ${dir} ${message}.`, { cause, suggestions })
  }
}

/** @param path relative to the agent folder */
export function isAgentFile(path: string): boolean {
  return /\.ya?ml$/.test(path) && !/(^|[\\/])(\.|node_modules[\\/])/.test(path)
}
