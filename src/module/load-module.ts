import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Compile, type Validator } from 'typebox/compile'
import { didYouMean } from '../definition/nearest-name.ts'
import { HostError, messageOf } from '../errors.ts'
import { apiOf, isModule, type Module } from './define-module.ts'
import { findProjectFile } from './find-project-file.ts'
import { installation } from './installation.ts'
import { LoadCache } from './load-cache.ts'
import { isForNode, type ProjectCode } from './project-code.ts'
import {
  checkApi,
  checkPackageApi,
  findModulePackage,
  listModulePackages,
  type ModulePackage,
  packageNameOf,
} from './project-packages.ts'

/**
 * Origin of a module; `ejected` is the project's own copy of a library module, `program` a module passed as an object.
 */
export type ModuleSource = 'project' | 'ejected' | 'library' | 'package' | 'program'

/** A module, and where it came from. */
export interface LoadedModule {
  readonly module: Module
  readonly reference: string
  readonly source: ModuleSource
  /** Checks a `config` against the module's schema. */
  readonly validator: Validator
  /** Absolute paths; a change of any of them, or its appearance, can make the reference mean something else. */
  readonly files: readonly string[]
}

interface Found {
  readonly source: ModuleSource
  /** Absolute path or file URL. */
  readonly target: string
}

/** Of files that can be modules; the first that is there is taken. */
export const MODULE_EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']

/**
 * Module references -> modules. A reference is a path under a `modules/` folder, without extension: the project's is
 * looked up first, then the library's. `./x.ts` is a file of the project, anything else an npm package of it; `#Name`
 * picks a named export.
 */
export class ModuleLoader {
  readonly #projectDir: string
  readonly #code: ProjectCode
  readonly #loads = new LoadCache<LoadedModule>()

  constructor(projectDir: string, code: ProjectCode) {
    this.#projectDir = projectDir
    this.#code = code
  }

  /** @throws HostError `MODULE_NOT_FOUND`, `MODULE_INVALID` */
  load(reference: string): Promise<LoadedModule> {
    return this.#loads.get(reference, () => this.#load(reference))
  }

  /** Forgets every reference that these files (absolute paths) may concern: the next use resolves and loads it again. */
  forget(changed: ReadonlySet<string>): void {
    this.#code.forget(changed)
    this.#loads.forget(changed)
  }

  /** The files that would be this reference if they were there: absolute paths. */
  candidates(reference: string): string[] {
    const [path = ''] = reference.split('#')
    if (isFilePath(path)) return [resolve(this.#projectDir, path)]
    return MODULE_EXTENSIONS.map((extension) => join(this.#projectDir, 'modules', `${path}${extension}`))
  }

  async #load(reference: string): Promise<LoadedModule> {
    const [path = '', exportName = 'default'] = reference.split('#')
    const found = await this.#find(reference, path)
    const { exports, files } = await this.#import(found)
    const module = pickExport(exports, exportName)
    if (!isModule(module)) throw notAModule(reference, exportName, exports)
    checkApi(apiOf(module), `The module '${reference}'`)
    return {
      module,
      reference,
      source: found.source,
      validator: compileConfig(module, reference),
      files: [...new Set([...this.candidates(reference), ...files])],
    }
  }

  async #find(reference: string, path: string): Promise<Found> {
    if (isFilePath(path)) return this.#findFile(reference, path)
    if (path === '' || isAbsolute(path) || path.split(/[\\/]/).some((part) => part === '..' || part === '')) {
      throw new HostError('MODULE_NOT_FOUND', `'${reference}' is not a module reference.`, {
        suggestions: ['Write <package>/<item>, a path under modules/ without extension, or ./file.ts.'],
      })
    }
    const own = this.candidates(reference).find((file) => existsSync(file))
    const isOfLibrary = existsSync(libraryFile(path))
    if (own) return { source: isOfLibrary ? 'ejected' : 'project', target: own }
    if (isOfLibrary) return { source: 'library', target: libraryFile(path).href }
    return this.#findPackage(reference, path)
  }

  #findFile(reference: string, path: string): Found {
    const file = findProjectFile(this.#projectDir, path)
    if (existsSync(file)) return { source: 'project', target: file }
    throw new HostError('MODULE_NOT_FOUND', `The module '${reference}' was not found: there is no file ${path}.`, {
      suggestions: ['The path is relative to the project folder, and has its extension.'],
    })
  }

  async #findPackage(reference: string, path: string): Promise<Found> {
    const name = packageNameOf(path)
    checkPackageApi(name, this.#projectDir)
    const declared = this.#findDeclared(name, path)
    if (declared) return { source: 'package', target: declared }
    try {
      return { source: 'package', target: await this.#code.resolve(path) }
    } catch (cause) {
      const places = path.startsWith('@')
        ? 'among the packages of the project'
        : "in the project's modules/ or the library"
      throw new HostError('MODULE_NOT_FOUND', `The module '${reference}' was not found ${places}.`, {
        suggestions: suggestModules(path, this.#projectDir, cause),
        cause,
      })
    }
  }

  /** In the folder of modules that a package declares, with no need for `exports`. */
  #findDeclared(name: string, path: string): string | undefined {
    const folder = findModulePackage(name, this.#projectDir)?.modules
    if (folder === undefined || path === name) return undefined
    const stem = join(folder, path.slice(name.length + 1))
    const file = MODULE_EXTENSIONS.map((extension) => `${stem}${extension}`).find((candidate) => existsSync(candidate))
    if (file === undefined) return undefined
    const real = realpathSync(file)
    return isForNode(real) ? pathToFileURL(real).href : real
  }

  async #import({ source, target }: Found): Promise<{ exports: Record<string, unknown>; files: readonly string[] }> {
    if (source === 'library') return { exports: await import(target), files: [] }
    return this.#code.import(target)
  }
}

/** The nearest module, or those of the same name in a package; otherwise how to get the package, or all of the library. */
function suggestModules(path: string, projectDir: string, cause: unknown): readonly string[] {
  const known = listKnownModules(projectDir)
  const namesakes = known.filter((reference) => reference.endsWith(`/${path}`))
  const nearest = [...didYouMean(path, known), ...namesakes.map((reference) => `Did you mean '${reference}'?`)]
  if (nearest.length > 0) return nearest
  if (path.startsWith('@') && cause instanceof HostError) return cause.suggestions
  return [`Modules of the library: ${listLibrary().join(', ')}.`]
}

/** A CommonJS package may have put its exports, or its default export, one level down. */
function pickExport(exports: Record<string, unknown>, name: string): unknown {
  const value = exports[name]
  if (isModule(value)) return value
  const inner: unknown = Reflect.get(Object(exports.default), name)
  return inner === undefined ? value : inner
}

/** References of every module that a project can name without a path: its own, those of its packages, the library's. */
export function listKnownModules(projectDir: string): string[] {
  return [...new Set([...listProjectModules(projectDir), ...listLibrary()])].sort()
}

/** References of the modules in a project's `modules/` and in its packages. */
export function listProjectModules(projectDir: string): string[] {
  const ofPackages = listModulePackages(projectDir).flatMap(listPackageModules)
  return [...listModules(join(projectDir, 'modules')), ...ofPackages]
}

/** References of the modules of a package. */
export function listPackageModules({ name, modules }: ModulePackage): string[] {
  const references = listModules(modules).filter((reference) => !/(^|\/)lib\//.test(reference))
  return references.map((reference) => `${name}/${reference}`)
}

/** Every module of the library, as a reference names it, in alphabetical order. What is in a `lib/` is no module. */
export function listLibrary(): string[] {
  return listModules(fileURLToPath(installation.library)).filter((reference) => !reference.includes('/lib/'))
}

/** References of the modules below a folder. */
function listModules(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?[jt]s$/.test(entry.name) && !/\.d\.m?ts$|^index\./.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .map((path) => path.replace(/\.m?[jt]s$/, ''))
    .sort()
}

/** Imports a module of the library by its reference. */
export function importLibraryModule(reference: string): Promise<Record<string, unknown>> {
  return import(libraryFile(reference).href)
}

function libraryFile(path: string): URL {
  return new URL(`${path}${installation.libraryExtension}`, installation.library)
}

function isFilePath(path: string): boolean {
  return path.startsWith('./') || path.startsWith('../')
}

function notAModule(reference: string, exportName: string, exports: Record<string, unknown>): HostError {
  const others = Object.keys(exports).filter((name) => isModule(exports[name]))
  const what = exportName === 'default' ? 'has no default export' : `has no export '${exportName}'`
  const base = reference.split('#')[0]
  return new HostError('MODULE_INVALID', `'${reference}' ${what} that was made with defineModule.`, {
    suggestions:
      others.length > 0
        ? others.map((name) => (name === 'default' ? `Write ${base}` : `Write ${base}#${name}`))
        : ["Write: export default defineModule({ name: '...', provides: [...], create: () => ({ ... }) })"],
  })
}

/** A module that a program hands over as an object, as if it had been loaded. */
export function wrapModule(module: Module): LoadedModule {
  const { name } = module
  return { module, reference: name, source: 'program', validator: compileConfig(module, name), files: [] }
}

function compileConfig(module: Module, reference: string): Validator {
  try {
    return Compile(module.config)
  } catch (cause) {
    throw new HostError(
      'MODULE_INVALID',
      `'${reference}' has a config schema that cannot be used: ${messageOf(cause)}`,
      {
        cause,
      },
    )
  }
}
