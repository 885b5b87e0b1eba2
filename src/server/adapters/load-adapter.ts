import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { didYouMean } from '../../definition/nearest-name.ts'
import { findValueProblems } from '../../definition/schema-problems.ts'
import { badOption, HostError, hasCode, messageOf } from '../../errors.ts'
import { isObject } from '../../json.ts'
import { findProjectFile } from '../../module/find-project-file.ts'
import { ProjectCode } from '../../module/project-code.ts'
import { checkPackageApi, packageNameOf } from '../../module/project-packages.ts'
import { keysOf } from '../guards/api-keys.ts'
import { type ReadCredentials, readExactBearer } from '../guards/door.ts'
import { digestOf, type Key } from '../guards/key.ts'
import { makePrincipal } from '../guards/principal.ts'
import type { ServerOptions } from '../options/options.ts'
import type { AdapterClass, DebugAdapterOptions } from './adapter.ts'
import { adapterName } from './adapter-name.ts'

/** Options with internals for the built-in adapters; the types of other adapters do not show them. */
type AnyAdapterClass = AdapterClass<DebugAdapterOptions>

/** A built-in adapter: loaded only when it is named. */
interface BuiltIn {
  readonly load: () => Promise<AnyAdapterClass>
  /** The keys that are its own: from its option or variable. */
  readonly keys: (options: ServerOptions) => readonly Key[]
  readonly readCredentials?: ReadCredentials
}

const BUILT_IN: Readonly<Record<string, BuiltIn>> = {
  ChatCompatApiAdapter: {
    load: async () => (await import('./chat-compat/index.ts')).ChatCompatApiAdapter,
    keys: ({ compatApiKey = process.env.COMPAT_API_KEY || undefined }) => keysOf(compatApiKey),
  },
  ResponsesCompatApiAdapter: {
    load: async () => (await import('./responses-compat/index.ts')).ResponsesCompatApiAdapter,
    keys: ({ responsesApiKey }) => keysOf(responsesApiKey),
  },
  McpApiAdapter: {
    load: async () => (await import('./mcp/index.ts')).McpApiAdapter,
    keys: ({ mcpApiKey = process.env.MCP_API_KEY || undefined }) => keysOf(mcpApiKey),
    readCredentials: readExactBearer,
  },
  TriggersAdapter: {
    load: async () => (await import('./triggers/index.ts')).TriggersAdapter,
    // It checks its requests itself.
    keys: () => [],
  },
  UiApiAdapter: {
    load: async () => (await import('./ui/index.ts')).UiApiAdapter,
    keys: operatorKeys,
  },
}

/** Holder of the token of the debug UI. */
const OPERATOR = makePrincipal({ scopes: ['debug'], isOperator: true })

/** The token of the debug UI, as a key. */
export function operatorKeys({ uiToken }: Pick<ServerOptions, 'uiToken'>): readonly Key[] {
  return uiToken === undefined ? [] : [{ digest: digestOf(uiToken), principal: OPERATOR }]
}

/** Adapter that debug mode brings along. */
export const DEBUG_UI = 'UiApiAdapter'

export const BUILT_IN_ADAPTERS: readonly string[] = Object.keys(BUILT_IN)

export interface LoadedAdapter {
  readonly name: string
  readonly Adapter: AnyAdapterClass
  readonly keys: readonly Key[]
  /** Text that the keys of an adapter that is not built in were read from: a secret. */
  readonly ownKey?: string | undefined
  readonly readCredentials?: ReadCredentials | undefined
  /** Its own options, checked. */
  readonly config: Readonly<Record<string, unknown>>
}

/**
 * Loads adapters with the options that are theirs alone.
 *
 * @throws HostError `ADAPTER_NOT_FOUND`, `MODULE_INVALID`; `OPTION_INVALID` for options that do not fit, or whose adapter is not
 *   among them
 */
export async function loadAdapters(paths: Iterable<string>, options: ServerOptions): Promise<LoadedAdapter[]> {
  const found = await Promise.all([...paths].map((path) => loadAdapter(path, options)))
  const names = found.map(({ name }) => name)
  const unknownName = Object.keys(options.adapterOptions).find((name) => !names.includes(name))
  if (unknownName !== undefined) {
    const message = `There are options for '${unknownName}', and no such adapter is served.`
    throw badOption(message, { suggestions: didYouMean(unknownName, names) })
  }
  return found.map((loaded) => ({ ...loaded, config: readConfig(loaded, options.adapterOptions[loaded.name] ?? {}) }))
}

function readConfig({ name, Adapter: { config: schema, key } }: FoundAdapter, all: Readonly<Record<string, unknown>>) {
  const { [KEY_OPTION]: _, ...others } = all
  const given = key ? others : all
  if (schema === undefined) return given
  const value = Value.Default(schema, Value.Convert(schema, structuredClone(given))) as Record<string, unknown>
  const [problem] = findValueProblems(schema, Compile(schema), value)
  if (problem === undefined) return value
  throw badOption(`Options of ${name}: ${problem.message}`, { suggestions: problem.suggestions })
}

type FoundAdapter = Omit<LoadedAdapter, 'config'>

/**
 * The adapter that a path names: the last segment of a dotted path picks a built-in one; `adapters.slack.SlackAdapter` is
 * the export `SlackAdapter` of the project's `adapters/slack.ts`; `./path.ts#Name` names file and export, `@acme/slack#SlackAdapter`
 * an npm package of the project. Without a name behind `#` it is the default export, or the only adapter that is exported.
 *
 * @throws HostError `ADAPTER_NOT_FOUND`; `MODULE_INVALID` for a file outside the project, and for one that cannot be loaded
 */
async function loadAdapter(path: string, options: ServerOptions): Promise<FoundAdapter> {
  const name = adapterName(path)
  const builtIn = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined
  if (!path.startsWith('./') && builtIn) {
    const { readCredentials } = builtIn
    return { name, Adapter: await builtIn.load(), keys: builtIn.keys(options), readCredentials }
  }
  const { file, exportName: named, exports } = await importAdapter(path, options.projectDir)
  const exportName = named ?? soleAdapterOf(exports)
  const found = exports[exportName]
  if (isAdapterClass(found)) {
    const name = exportName === 'default' ? path : exportName
    const ownKey = readOwnKey(name, found, options)
    return { name, Adapter: found, keys: readOwnKeys(name, ownKey), ownKey }
  }
  throw named === undefined ? hasNoDefault(file, exports) : hasNoAdapter(file, named, exports)
}

const KIND = 'An adapter is a class with a method adapt(app).'

function hasNoAdapter(file: string, name: string, exports: Readonly<Record<string, unknown>>): HostError {
  const suggestions = [KIND, ...didYouMean(name, adaptersOf(exports))]
  return new HostError('ADAPTER_NOT_FOUND', `${file} has no export '${name}' that is an adapter.`, { suggestions })
}

function hasNoDefault(file: string, exports: Readonly<Record<string, unknown>>): HostError {
  const suggestions = [KIND, ...adaptersOf(exports).map((name) => `Name one of its adapters: ${file}#${name}`)]
  return new HostError('ADAPTER_NOT_FOUND', `${file} exports no adapter as its default.`, { suggestions })
}

/** Option of every adapter that names a key of its own; no part of its config. */
const KEY_OPTION = 'api_key'

function readOwnKey(name: string, { key }: AnyAdapterClass, { adapterOptions }: ServerOptions): string | undefined {
  if (key === undefined) return undefined
  const { [KEY_OPTION]: given = process.env[key.variable ?? ''] || undefined } = adapterOptions[name] ?? {}
  if (given !== undefined && typeof given !== 'string')
    throw badOption(`Options of ${name}: ${KEY_OPTION} must be a text.`)
  return given
}

/** @throws HostError `OPTION_INVALID` without the key */
function readOwnKeys(name: string, text: string | undefined): readonly Key[] {
  try {
    return keysOf(text)
  } catch (error) {
    throw badOption(`Options of ${name}: ${KEY_OPTION} ${messageOf(error)}.`)
  }
}

/** The default export; otherwise the only one that is an adapter. */
function soleAdapterOf(exports: Readonly<Record<string, unknown>>): string {
  const [first = 'default', ...others] = adaptersOf(exports)
  return others.length > 0 ? 'default' : first
}

function adaptersOf(exports: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(exports).filter((name) => isAdapterClass(exports[name]))
}

interface ImportedAdapter {
  readonly file: string
  /** Undefined where the path names none. */
  readonly exportName: string | undefined
  readonly exports: Readonly<Record<string, unknown>>
}

async function importAdapter(path: string, projectDir: string): Promise<ImportedAdapter> {
  const code = new ProjectCode(projectDir)
  const isPackage = path.startsWith('@') || (path.indexOf('#') > 0 && !path.startsWith('./'))
  if (!isPackage) {
    const located = locateInProject(path, projectDir)
    return { ...located, exports: (await code.load(located.file)).exports }
  }
  const [file = '', exportName] = path.split('#')
  checkPackageApi(packageNameOf(file), projectDir)
  try {
    const { exports } = await code.import(await code.resolve(file))
    // A CommonJS package may have put its exports one level down.
    const { default: inner } = exports
    const isBelow = !isAdapterClass(exports[exportName ?? 'default']) && isObject(inner)
    return { file, exportName, exports: isBelow ? inner : exports }
  } catch (error) {
    if (!hasCode(error, 'MODULE_NOT_FOUND')) throw error
    throw notFound(path, [error.message, ...error.suggestions])
  }
}

function locateInProject(path: string, projectDir: string): Omit<ImportedAdapter, 'exports'> {
  if (path.startsWith('./')) {
    const [file = '', exportName] = path.split('#')
    if (existsSync(findProjectFile(projectDir, file))) return { file, exportName }
    throw notFound(path, [`There is no file ${file} in the project.`])
  }
  const segments = path.split('.')
  const exportName = segments.pop() ?? ''
  const stem = segments.join('/')
  const file = ['.ts', '.mts', '.js', '.mjs']
    .map((extension) => `${stem}${extension}`)
    .find((candidate) => {
      return stem !== '' && existsSync(join(projectDir, candidate))
    })
  if (file) return { file, exportName }
  const looked = stem === '' ? [] : [`There is no file ${stem}.ts (.mts, .js, .mjs) in the project.`]
  const known = `Built-in adapters: ${BUILT_IN_ADAPTERS.join(', ')}.`
  throw notFound(path, [...didYouMean(exportName, BUILT_IN_ADAPTERS), ...looked, known])
}

function notFound(path: string, suggestions: string[]): HostError {
  return new HostError('ADAPTER_NOT_FOUND', `The adapter '${path}' was not found.`, { suggestions })
}

function isAdapterClass(value: unknown): value is AnyAdapterClass {
  return typeof value === 'function' && typeof value.prototype?.adapt === 'function'
}
