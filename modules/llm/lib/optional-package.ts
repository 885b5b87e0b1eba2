import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Loads a package that not everybody needs: from the project, or from where agent-host is installed.
 *
 * @throws Error that says how to install it
 */
export async function loadPackage<T>(name: string, module: string, projectDir: string): Promise<T> {
  for (const base of [join(projectDir, 'package.json'), import.meta.url]) {
    const entry = resolveFrom(base, name)
    // The name is no literal: types of the package, which may not be there, are not asked for.
    if (entry !== undefined) return import(pathToFileURL(entry).href)
  }
  throw new Error(`${module} needs the package ${name}, which is not installed. In the project: npm install ${name}`)
}

/** Returns true when {@link loadPackage} would find the package. */
export function hasPackage(name: string, projectDir: string): boolean {
  return [join(projectDir, 'package.json'), import.meta.url].some((base) => resolveFrom(base, name) !== undefined)
}

function resolveFrom(base: string, name: string): string | undefined {
  try {
    return createRequire(base).resolve(name)
  } catch {
    return undefined
  }
}
