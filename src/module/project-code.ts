import { createHash } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type {
  BuildFailure,
  BuildOptions,
  ImportKind,
  Loader,
  Message,
  OnLoadResult,
  OnResolveResult,
  Plugin,
  PluginBuild,
} from 'esbuild'
import { withDeadline } from '../async.ts'
import { HostError, messageOf } from '../errors.ts'
import { sweepBundleFolders, withBundleFolder } from './bundle-folder.ts'
import { installation } from './installation.ts'
import { LoadCache } from './load-cache.ts'
import { readProjectFrame } from './project-frame.ts'
import { packageNameOf } from './project-packages.ts'
import { shareInstallation } from './share-installation.ts'
import { withEsbuild } from './with-esbuild.ts'

/** A file of the project, loaded, with every file of the project that it consists of (absolute paths). */
export interface LoadedFile {
  readonly exports: Record<string, unknown>
  readonly files: readonly string[]
}

/** Top-level code that waits for ever must not hold up the agents of every other file. */
const LOAD_TIMEOUT_MS = 20_000

/**
 * Loads TypeScript and JavaScript of a project without a build step: each requested file becomes one bundle together with
 * the project's files that it imports. npm packages stay outside and are shared with the host; `agent-host` is always
 * the running installation, also where nothing was ever installed.
 *
 * A file is loaded once, until {@link ProjectCode.forget} is called for it or one of its imports. Node never
 * frees the memory of a replaced module.
 */
export class ProjectCode {
  readonly #projectDir: string
  readonly #loadTimeoutMs: number
  readonly #loads = new LoadCache<LoadedFile>()
  /** By hash of the code: unchanged code keeps its state. */
  readonly #imports = new Map<string, Promise<Record<string, unknown>>>()
  #sweeping: Promise<void> | undefined

  /** @param loadTimeoutMs how long top-level code may take */
  constructor(projectDir: string, loadTimeoutMs = LOAD_TIMEOUT_MS) {
    this.#projectDir = projectDir
    this.#loadTimeoutMs = loadTimeoutMs
  }

  /**
   * @param path absolute, or relative to the project folder
   * @throws HostError `MODULE_INVALID` naming file, line and reason
   */
  load(path: string): Promise<LoadedFile> {
    const file = resolve(this.#projectDir, path)
    return this.#loads.get(file, () => this.#bundleAndImport(file))
  }

  /**
   * Finds a package as the project's code does: first in the project, then among agent-host's own.
   *
   * @returns a file URL for files that Node loads itself, an absolute path for TypeScript and linked packages
   * @throws HostError `MODULE_NOT_FOUND`
   */
  async resolve(specifier: string): Promise<string> {
    let found: OnResolveResult | undefined
    const capture: Plugin = {
      name: 'capture',
      setup(context) {
        context.onResolve({ filter: /^[^./]/ }, async ({ path, resolveDir, kind, pluginData }) => {
          if (pluginData === MARK) return undefined
          found = await resolvePackage(context, path, resolveDir, kind)
          return { path, external: true }
        })
      },
    }
    const contents = `import ${JSON.stringify(specifier)}`
    const stdin = { contents, resolveDir: this.#projectDir }
    const options: BuildOptions = { stdin, ...RESOLUTION, bundle: true, write: false, logLevel: 'silent' }
    await withEsbuild(({ build }) => build({ ...options, plugins: [capture] }))
    if (found?.path !== undefined) return found.path
    const [{ text, notes } = { text: `There is no package '${specifier}'.`, notes: [] }] = found?.errors ?? []
    const suggestions = (notes ?? []).flatMap(({ text: note }) => note ?? [])
    throw new HostError('MODULE_NOT_FOUND', text ?? '', { suggestions })
  }

  /**
   * Imports the result of {@link ProjectCode.resolve}. A package that Node loads itself is loaded once.
   *
   * @throws HostError `MODULE_INVALID`
   */
  async import(target: string): Promise<LoadedFile> {
    if (!target.startsWith('file:')) return this.load(target)
    shareInstallation()
    const file = fileURLToPath(target)
    try {
      return { exports: await this.#withinTimeout(import(target), file), files: [] }
    } catch (cause) {
      if (cause instanceof HostError && cause.message.startsWith(this.#name(file))) throw cause
      throw new HostError('MODULE_INVALID', `${this.#name(file)}: ${messageOf(cause)}`, { cause })
    }
  }

  /** Forgets every bundle with one of these files (absolute paths): the next request loads it again. */
  forget(changed: ReadonlySet<string>): void {
    this.#loads.forget(changed)
  }

  async #bundleAndImport(file: string): Promise<LoadedFile> {
    this.#sweeping ??= sweepBundleFolders()
    await this.#sweeping
    // Gone once Node has read the code: cleaners of temporary files find nothing to break.
    return withBundleFolder((dir) => this.#bundle(file, dir))
  }

  async #bundle(file: string, dir: string): Promise<LoadedFile> {
    const outfile = join(dir, 'bundle.mjs')
    const options = {
      entryPoints: [file],
      absWorkingDir: this.#projectDir,
      outfile,
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      target: 'node20',
      ...RESOLUTION,
      sourcemap: 'inline',
      sourcesContent: false,
      logLevel: 'silent',
      plugins: [keepOutside(), refuseSpecialFiles(), keepImportMeta()],
    } satisfies BuildOptions
    const result = await withEsbuild(({ build }) => build(options)).catch((failure: BuildFailure) => {
      throw this.#explainBuildFailure(file, failure)
    })
    const [output] = result.outputFiles
    if (!output) throw new HostError('MODULE_INVALID', `${this.#name(file)} contains no code.`)
    await writeFile(outfile, output.contents)
    const files = Object.keys(result.metafile.inputs).map((input) => resolve(this.#projectDir, stripNamespace(input)))
    const hash = createHash('sha256').update(file).update(withoutSourceMap(output.text)).digest('base64')
    return { exports: await this.#import(file, outfile, hash), files }
  }

  async #import(file: string, bundle: string, hash: string): Promise<Record<string, unknown>> {
    process.setSourceMapsEnabled(true)
    const importing = this.#imports.get(hash) ?? import(pathToFileURL(bundle).href)
    this.#imports.set(hash, importing)
    importing.catch(() => this.#imports.delete(hash))
    try {
      return await this.#withinTimeout(importing, file)
    } catch (cause) {
      if (cause instanceof HostError && cause.message.includes(this.#name(file))) throw cause
      throw new HostError('MODULE_INVALID', `${this.#placeOf(cause, file)}: ${messageOf(cause)}`, { cause })
    }
  }

  #withinTimeout<T>(importing: Promise<T>, file: string): Promise<T> {
    return withDeadline(importing, this.#loadTimeoutMs, () => {
      const seconds = this.#loadTimeoutMs / 1000
      return new HostError('MODULE_INVALID', `${this.#name(file)} did not finish loading within ${seconds} seconds.`)
    })
  }

  #explainBuildFailure(file: string, failure: BuildFailure): HostError {
    const messages = failure.errors ?? []
    const text = messages.map((message) => this.#formatMessage(message)).join('\n')
    const suggestions = messages.flatMap(({ notes }) => notes.map((note) => note.text)).filter((note) => note !== '')
    return new HostError('MODULE_INVALID', text || `${this.#name(file)}: ${messageOf(failure)}`, {
      suggestions,
      cause: failure,
    })
  }

  #formatMessage({ location, text }: Message): string {
    if (!location) return text
    const path = stripNamespace(location.file)
    return `${this.#name(resolve(this.#projectDir, path))}:${location.line}:${location.column + 1}: ${text}`
  }

  /** The first place in the project that an error's stack names. */
  #placeOf(error: unknown, file: string): string {
    const lines = error instanceof Error ? (error.stack ?? '').split('\n') : []
    const [place] = lines.flatMap((line) => readProjectFrame(line, this.#projectDir) ?? [])
    return place ? `${place.file}:${place.line}:${place.column}` : this.#name(file)
  }

  #name(file: string): string {
    const inside = relative(this.#projectDir, file)
    return inside.startsWith('..') ? file : inside
  }
}

/** The map names the sources relative to the bundle's folder, which is another each time. */
function withoutSourceMap(code: string): string {
  return code.slice(0, code.lastIndexOf('//# sourceMappingURL='))
}

/** esbuild calls a file `namespace:path` where a plugin loaded it. */
function stripNamespace(path: string): string {
  return path.replace(/^(file|project):/, '')
}

/** Without an own list of conditions esbuild adds `module`, and would load other files than Node does. */
const RESOLUTION: Pick<BuildOptions, 'platform' | 'conditions'> = { platform: 'node', conditions: [] }

const MARK = Symbol('already resolved here')

/** Leaves npm packages where they are, under their full address: the bundle lies outside the project. */
function keepOutside(): Plugin {
  return {
    name: 'keep-outside',
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, async ({ path, resolveDir, kind, pluginData, importer }) => {
        if (pluginData === MARK || importer === '') return undefined
        if (path === 'agent-host') return { path: installation.entry.href, external: true }
        if (path.startsWith('node:') || builtinModules.includes(path)) return { path, external: true }
        if (/^[a-z]+:/i.test(path)) return { path, external: true }
        return resolvePackage(build, path, resolveDir, kind)
      })
    },
  }
}

/** In the project, and otherwise among agent-host's own packages: an ejected module works with nothing installed. */
async function resolvePackage(
  build: PluginBuild,
  path: string,
  resolveDir: string,
  kind: ImportKind,
): Promise<OnResolveResult> {
  const options = { kind, pluginData: MARK }
  let found = await build.resolve(path, { ...options, resolveDir })
  if (found.errors.length > 0) {
    const own = await build.resolve(path, { ...options, resolveDir: dirname(fileURLToPath(installation.entry)) })
    if (own.errors.length === 0) found = own
  }
  if (found.errors.length > 0) {
    const text = `The package '${path}' is not installed.`
    return { errors: [{ text, notes: [{ text: `npm install ${packageNameOf(path)}` }] }] }
  }
  return isForNode(found.path) ? { path: pathToFileURL(found.path).href, external: true } : { path: found.path }
}

/** Reports whether a file (absolute path) belongs to an installed package, in a form that Node loads as it is. */
export function isForNode(path: string): boolean {
  return /[\\/]node_modules[\\/]/.test(path) && !/\.[cm]?tsx?$/.test(path)
}

/** Rejects named pipes and the like, also imported ones: reading one would block a thread of Node for ever. */
function refuseSpecialFiles(): Plugin {
  return {
    name: 'refuse-special-files',
    setup(build) {
      build.onLoad({ filter: /./ }, async ({ path }): Promise<OnLoadResult | undefined> => {
        if ((await stat(path)).isFile()) return undefined
        return {
          errors: [{ text: `${relative(build.initialOptions.absWorkingDir ?? '', path)} is not a regular file.` }],
        }
      })
    },
  }
}

const LOADERS: Readonly<Record<string, Loader>> = { ts: 'ts', mts: 'ts', cts: 'ts', tsx: 'tsx', jsx: 'jsx' }

/** `import.meta.url` and its kin keep naming the file that they stand in, although the code runs from a bundle. */
function keepImportMeta(): Plugin {
  return {
    name: 'keep-import-meta',
    setup(build) {
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }): Promise<OnLoadResult | undefined> => {
        const source = await readFile(path, 'utf8')
        if (!source.includes('import.meta')) return undefined
        const { code, warnings } = await build.esbuild.transform(source, {
          loader: LOADERS[path.slice(path.lastIndexOf('.') + 1)] ?? 'js',
          sourcefile: path,
          sourcemap: 'inline',
          target: 'node20',
          define: {
            'import.meta.url': JSON.stringify(pathToFileURL(path).href),
            'import.meta.filename': JSON.stringify(path),
            'import.meta.dirname': JSON.stringify(dirname(path)),
          },
        })
        return { contents: code, loader: 'js', warnings, resolveDir: dirname(path) }
      })
    },
  }
}
