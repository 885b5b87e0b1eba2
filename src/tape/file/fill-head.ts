import { readdirSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { hashFile } from './hash-file.ts'

/**
 * Adds the hashes of files to the head of a tape.
 *
 * @param line JSON of a head, without its newline
 * @param paths absolute, files and folders; a folder stands for the files in it at any depth. Those that cannot be read are left out
 */
export function fillHead(line: string, paths: readonly string[], projectDir: string): string {
  const name = (path: string) => relative(projectDir, path).split(sep).join('/')
  const hashes = new Map<string, string>()
  for (const path of paths.flatMap(filesAt)) {
    const hash = hashFile(path)
    if (hash !== undefined) hashes.set(name(path), hash)
  }
  const head = JSON.parse(line) as { modules: { files: readonly string[] }[] }
  const modules = head.modules.map((module) => ({
    ...module,
    files: module.files.map(name).filter((path) => hashes.has(path)),
  }))
  return JSON.stringify({ ...head, modules, files: Object.fromEntries(hashes) })
}

/** The path itself where it is a file, those of the files below where it is a folder. */
function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .flatMap((entry) => filesAt(join(path, entry.name)))
      .sort()
  } catch {
    return []
  }
}
