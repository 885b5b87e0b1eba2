import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { didYouMean } from '../definition/nearest-name.ts'
import { HostError } from '../errors.ts'
import { ProjectCode } from '../module/project-code.ts'
import type { AdapterClass } from './adapter.ts'
import { adapterName } from './adapter-name.ts'
import type { ServerOptions } from './options.ts'

/** A built-in adapter: loaded only when it is named. */
interface BuiltIn {
  readonly load: () => Promise<AdapterClass>
  /** The key that the options hold for it. */
  readonly apiKey?: (options: ServerOptions) => string | undefined
}

const BUILT_IN: Readonly<Record<string, BuiltIn>> = {
  ChatCompatApiAdapter: {
    load: async () => (await import('./adapters/chat-compat/index.ts')).ChatCompatApiAdapter,
    apiKey: ({ compatApiKey }) => compatApiKey,
  },
  ResponsesCompatApiAdapter: {
    load: async () => (await import('./adapters/responses-compat/index.ts')).ResponsesCompatApiAdapter,
    apiKey: ({ responsesApiKey }) => responsesApiKey,
  },
  McpApiAdapter: {
    load: async () => (await import('./adapters/mcp/index.ts')).McpApiAdapter,
    apiKey: ({ mcpApiKey }) => mcpApiKey,
  },
  UiApiAdapter: {
    load: async () => (await import('./adapters/ui/index.ts')).UiApiAdapter,
  },
}

export const BUILT_IN_ADAPTERS: readonly string[] = Object.keys(BUILT_IN)

export interface LoadedAdapter {
  readonly name: string
  readonly Adapter: AdapterClass
  readonly apiKey: string | undefined
}

/**
 * The adapter that a path names: the last segment of a dotted path picks a built-in one; `adapters.slack.SlackAdapter` is
 * the export `SlackAdapter` of the project's `adapters/slack.ts`; `./path.ts#Name` names file and export.
 *
 * @throws HostError `ADAPTER_NOT_FOUND`; `MODULE_INVALID` when a file of the project cannot be loaded
 */
export async function loadAdapter(path: string, options: ServerOptions): Promise<LoadedAdapter> {
  const name = adapterName(path)
  if (!path.startsWith('./') && Object.hasOwn(BUILT_IN, name)) {
    const builtIn = BUILT_IN[name] as BuiltIn
    return { name, Adapter: await builtIn.load(), apiKey: builtIn.apiKey?.(options) }
  }
  const { file, exportName } = locateInProject(path, options.projectDir)
  const { exports } = await new ProjectCode(options.projectDir).load(file)
  const found = exports[exportName]
  if (isAdapterClass(found))
    return { name: exportName === 'default' ? path : exportName, Adapter: found, apiKey: undefined }
  throw new HostError('ADAPTER_NOT_FOUND', `${file} has no export '${exportName}' that is an adapter.`, {
    suggestions: ['An adapter is a class with a method adapt(app).', ...didYouMean(exportName, Object.keys(exports))],
  })
}

function locateInProject(path: string, projectDir: string): { file: string; exportName: string } {
  if (path.startsWith('./')) {
    const [file = '', exportName = 'default'] = path.split('#')
    if (existsSync(join(projectDir, file))) return { file, exportName }
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
  const known = `Built-in adapters: ${BUILT_IN_ADAPTERS.join(', ')}.`
  throw notFound(path, [...didYouMean(exportName, BUILT_IN_ADAPTERS), known])
}

function notFound(path: string, suggestions: string[]): HostError {
  return new HostError('ADAPTER_NOT_FOUND', `The adapter '${path}' was not found.`, { suggestions })
}

function isAdapterClass(value: unknown): value is AdapterClass {
  return typeof value === 'function' && typeof value.prototype?.adapt === 'function'
}
