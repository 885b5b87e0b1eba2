import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { decodeText } from '../decode-text.ts'
import { badProject, HostError, messageOf } from '../errors.ts'
import { type Fields, fieldsOf } from '../json.ts'
import { readRegularFileSync } from '../read-regular-file.ts'
import { API_VERSION } from './define-module.ts'

/** Declaration of a module package in its `package.json`: `"agent-host": {"modules": "./modules", "api": 1}`. */
export interface ModulePackage {
  readonly name: string
  /** Absolute path of the folder with its modules. */
  readonly modules: string
}

/** Lists the packages that a project depends on and that bring modules, by name. */
export function listModulePackages(projectDir: string): ModulePackage[] {
  const { dependencies, devDependencies, optionalDependencies } = readManifest(projectDir)
  const lists = [dependencies, devDependencies, optionalDependencies].map(fieldsOf)
  const names = [...new Set(lists.flatMap(Object.keys))].sort()
  return names.flatMap((name) => findModulePackage(name, projectDir) ?? [])
}

/** Finds an installed package with modules; undefined if it is not installed, or has no modules. */
export function findModulePackage(name: string, projectDir: string): ModulePackage | undefined {
  const dir = findPackage(name, projectDir)
  const folder = dir === undefined ? undefined : fieldsOf(readManifest(dir)['agent-host']).modules
  return dir !== undefined && typeof folder === 'string' ? { name, modules: join(dir, folder) } : undefined
}

/**
 * Checks that a package was written for this version of agent-host, or an earlier one.
 *
 * @throws HostError `MODULE_INVALID`
 */
export function checkPackageApi(name: string, projectDir: string): void {
  const dir = findPackage(name, projectDir)
  const api = dir === undefined ? undefined : fieldsOf(readManifest(dir)['agent-host']).api
  if (typeof api === 'number') checkApi(api, `The package '${name}'`)
}

/** @throws HostError `MODULE_INVALID` */
export function checkApi(api: number, subject: string): void {
  if (api <= API_VERSION) return
  const message = `${subject} was written for version ${api} of the module API; this agent-host has version ${API_VERSION}.`
  throw new HostError('MODULE_INVALID', message, {
    suggestions: ['Update agent-host, or install an earlier version of the package.'],
  })
}

/** `@scope/name` or `name` of a specifier that may go on with a path. */
export function packageNameOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Finds the folder of a package as Node does: in the `node_modules` of the project, and of every folder above. */
export function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const dir = join(folder, 'node_modules', name)
    if (existsSync(join(dir, 'package.json'))) return dir
    if (dirname(folder) === folder) return undefined
  }
}

/** Fields of a `package.json`, none of them checked: none where there is no file. */
function readManifest(dir: string): Fields {
  const path = join(dir, 'package.json')
  if (!existsSync(path)) return fieldsOf(undefined)
  try {
    return fieldsOf(JSON.parse(decodeText(readRegularFileSync(path), path, () => {})))
  } catch (cause) {
    throw badProject(`${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}
