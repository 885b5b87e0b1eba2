import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { badOption } from '../errors.ts'

/**
 * Imports an optional peer: from the project, or from where agent-host is installed.
 *
 * @param option that needs it
 * @param otherwise advice if it is missing
 * @throws HostError `OPTION_INVALID` when it is not installed
 */
export async function importPeer<Package>(
  name: string,
  projectDir: string,
  option: string,
  otherwise = 'leave --store out: SQLite is built in.',
): Promise<Package> {
  for (const base of [join(projectDir, 'package.json'), import.meta.url]) {
    const file = resolveFrom(base, name)
    if (file === undefined) continue
    const { default: whole, ...named } = await import(pathToFileURL(file).href)
    return { ...whole, ...named } as Package
  }
  throw badOption(`${option} needs the package ${name}, which is not installed.`, {
    suggestions: [`Install it in the project: npm install ${name}`, `Or ${otherwise}`],
  })
}

function resolveFrom(base: string, name: string): string | undefined {
  try {
    return createRequire(base).resolve(name)
  } catch {
    return undefined
  }
}
