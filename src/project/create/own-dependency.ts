import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fieldsOf } from '../../json.ts'
import { VERSION } from '../../version.ts'

// The same place from src/project/create/ and from dist/project/create/.
const PACKAGE = fileURLToPath(new URL('../../..', import.meta.url)).replace(/[\\/]$/, '')
/** Written when the package is published (scripts/mark-published.js): its version can be installed from a registry. */
const MARK = fileURLToPath(new URL('../../../dist/published', import.meta.url))

/**
 * Version of agent-host that a new project depends on: a range, if this one is in a registry; otherwise the tarball that it was
 * installed from, or its own folder.
 */
export function ownDependency(folder = PACKAGE, mark = MARK): string {
  if (existsSync(mark)) return `^${VERSION}`
  return `file:${(findTarball(folder) ?? folder).split(sep).join('/')}`
}

/** npm notes where each package came from, except for global ones. */
function findTarball(folder: string): string | undefined {
  const modules = dirname(folder)
  const lock = resolve(modules, '.package-lock.json')
  if (basename(modules) !== 'node_modules' || !existsSync(lock)) return undefined
  const { packages } = fieldsOf(JSON.parse(readFileSync(lock, 'utf8')))
  const { resolved: from } = fieldsOf(fieldsOf(packages)['node_modules/agent-host'])
  if (typeof from !== 'string' || !from.startsWith('file:')) return undefined
  const tarball = resolve(dirname(modules), from.slice('file:'.length))
  return existsSync(tarball) ? tarball : undefined
}
