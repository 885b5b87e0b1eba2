import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HostError, systemCodeOf } from '../../errors.ts'
import { installation } from '../../module/installation.ts'
import { packageNameOf } from '../../module/project-packages.ts'
import { readRegularFile } from '../../read-regular-file.ts'

/**
 * Texts by paths under `modules/`. A character is a byte (latin1), so bytes of any encoding survive.
 */
export type FileTexts = ReadonlyMap<string, string>

/** The files of a library module: its own first, then its imports within the package. */
export async function readItem(reference: string): Promise<FileTexts> {
  const texts = new Map<string, string>()
  const open = [`${reference}.ts`]
  for (const path of open) {
    if (texts.has(path)) continue
    const text = await readLibraryFile(path)
    if (text === undefined) throw new HostError('MODULE_NOT_FOUND', `The library has no file ${path}.`)
    texts.set(path, text)
    const folder = posix.dirname(path)
    open.push(
      ...importsOf(text)
        .filter(isRelative)
        .map((specifier) => posix.join(folder, specifier)),
    )
  }
  return texts
}

/** @returns undefined when the library has no such file */
export async function readLibraryFile(path: string): Promise<string | undefined> {
  // Not as part of a URL: in a project of others the name of a folder may be `%2e%2e`, or `file:`.
  return readIfThere(join(fileURLToPath(installation.sources), path))
}

/** Reads a file as {@link FileTexts} have it; undefined where there is none. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return (await readRegularFile(file)).toString('latin1')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error) ?? '')) return undefined
    throw error
  }
}

/** The npm packages beside `agent-host` that these texts import, with the ranges that agent-host asks for. */
export function packagesOf(texts: FileTexts): ReadonlyMap<string, string> {
  const specifiers = [...texts.values()].flatMap(importsOf).filter((specifier) => !isRelative(specifier))
  const names = specifiers.map(packageNameOf)
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  const ranges: Readonly<Record<string, string>> = { ...manifest.peerDependencies, ...manifest.dependencies }
  const foreign = [...new Set(names)].filter((name) => !builtinModules.includes(name)).sort()
  return new Map(foreign.flatMap((name) => (ranges[name] === undefined ? [] : [[name, ranges[name]]])))
}

/** `from './x.ts'`, `import './x.ts'`, `import('x')`, and files read at run time: `new URL('./x.py', import.meta.url)`. */
function importsOf(text: string): string[] {
  const matches = text.matchAll(/(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*(['"])([^'"\n]+)\1/g)
  return [...matches].map(([, , specifier = '']) => specifier)
}

function isRelative(specifier: string): boolean {
  return /^\.{1,2}\//.test(specifier)
}
