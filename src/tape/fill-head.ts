import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { relative, sep } from 'node:path'

/**
 * Adds the hashes of files to the head of a tape.
 *
 * @param line JSON of a head, without its newline
 * @param paths absolute; those that are not there are left out
 */
export function fillHead(line: string, paths: readonly string[], projectDir: string): string {
  const name = (path: string) => relative(projectDir, path).split(sep).join('/')
  const files = paths.filter((path) => existsSync(path)).map((path) => [name(path), hashOf(path)])
  const head = JSON.parse(line) as { modules: { files: readonly string[] }[] }
  const known = new Set(files.map(([path]) => path))
  const modules = head.modules.map((module) => ({
    ...module,
    files: module.files.map(name).filter((path) => known.has(path)),
  }))
  return JSON.stringify({ ...head, modules, files: Object.fromEntries(files) })
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
