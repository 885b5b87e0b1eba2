import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { badProject, messageOf, systemCodeOf } from '../../errors.ts'

/**
 * The agent files below a folder (absolute paths), without hidden ones and those of installed packages.
 *
 * @param onUnreadable told of each folder inside that cannot be read, such as `lost+found` of a volume
 * @throws HostError `PROJECT_INVALID` when the folder itself is not there or cannot be read
 */
export async function listAgentFiles(
  dir: string,
  onUnreadable: (folder: string, error: unknown) => void = () => {},
): Promise<string[]> {
  const found: string[] = []
  const walk = async (folder: string): Promise<void> => {
    const entries = await readdir(join(dir, folder), { withFileTypes: true })
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (!entry.isDirectory()) found.push(path)
      else if (!isLeftOut(path)) await walk(path).catch((error) => onUnreadable(join(dir, path), error))
    }
  }
  try {
    await walk('')
    return found
      .filter(isAgentFile)
      .map((path) => join(dir, path))
      .sort()
  } catch (cause) {
    const code = systemCodeOf(cause)
    const missing = code === 'ENOENT'
    const message = missing
      ? 'is not there'
      : code === 'ENOTDIR'
        ? 'is not a folder'
        : `cannot be read: ${messageOf(cause)}`
    const suggestions = missing ? ['`agent-host init <name>` makes a project; --agent-dir names another folder.'] : []
    throw badProject(`The agent folder ${dir} ${message}.`, { cause, suggestions })
  }
}

/** @param path relative to the agent folder */
export function isAgentFile(path: string): boolean {
  return /\.ya?ml$/.test(path) && !isLeftOut(path)
}

function isLeftOut(path: string): boolean {
  return /(^|[\\/])(\.|node_modules([\\/]|$))/.test(path)
}
