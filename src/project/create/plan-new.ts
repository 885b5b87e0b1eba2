import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Script } from 'node:vm'
import { stringify } from 'yaml'
import { isReservedFileName } from '../../definition/reserved-file-name.ts'
import { badOption } from '../../errors.ts'
import type { PlannedFile } from '../write-files.ts'

// The same place from src/project/create/ and from dist/project/create/.
const TEMPLATES = new URL('../../../templates/new/', import.meta.url)

interface Kind {
  readonly template: string
  readonly path: (name: string) => string
  readonly pattern: RegExp
  /** Rule for valid names. */
  readonly rule: string
}

/** Kinds of files that `agent-host new` creates. */
const KINDS: Readonly<Record<string, Kind>> = {
  module: {
    template: 'module.ts',
    path: (name) => `modules/${name}.ts`,
    pattern: /^[a-z][a-z0-9-]*(\/[a-z][a-z0-9-]*)*$/,
    rule: 'lower case words with -, in folders with /: weather, or llm/my-model',
  },
  tool: {
    template: 'tool.ts',
    path: (name) => `tools/${name}.ts`,
    pattern: /^[a-z][a-z0-9-]*$/,
    rule: 'lower case words with -: word-count',
  },
  agent: {
    template: 'agent.yml',
    path: (name) => `agents/${name}.yml`,
    pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
    rule: "1 to 128 letters, digits, '_', '.' or '-', a letter or digit first",
  },
}

/**
 * A small commented module, tool or agent, and the package markers of its folders.
 *
 * @throws HostError `OPTION_INVALID` when the name does not fit
 */
export async function planNew(kind: string, name: string): Promise<PlannedFile[]> {
  const { template, path, pattern, rule } = KINDS[kind] as Kind
  if (!pattern.test(name))
    throw badOption(`The name of ${kind === 'agent' ? 'an' : 'a'} ${kind} must be ${rule}; not '${name}'.`)
  if (name.split('/').some(isReservedFileName))
    throw badOption(`'${name}' is no name for a file: Windows reserves it for a device.`)
  const text = await readFile(new URL(template, TEMPLATES), 'utf8')
  const words = name.split(/[-/]/)
  const capitalised = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  const identifier = capitalised.charAt(0).toLowerCase() + capitalised.slice(1)
  if (kind === 'tool' && !canBeExported(identifier))
    throw badOption(
      `A tool is a function of its name, and '${identifier}' has a meaning of its own there. Choose another.`,
    )
  // An id such as 123 or null needs quotes.
  const id = kind === 'agent' ? stringify(name).trim() : name
  const content = text.replaceAll('CLASS', capitalised).replaceAll('NAME', kind === 'tool' ? identifier : id)
  return [{ path: path(name), content }, ...(kind === 'module' ? markersFor(path(name)) : [])]
}

/** Compiles, and runs nothing: words of the language, `await` too, and the function that the file imports are taken. */
function canBeExported(identifier: string): boolean {
  try {
    new Script(`'use strict'; async () => { const defineTool = 0, ${identifier} = 0 }`)
    return true
  } catch {
    return false
  }
}

/** `modules/llm/my-model.ts` needs `modules/llm/index.ts` and `modules/index.ts`. */
function markersFor(path: string): PlannedFile[] {
  const markers: PlannedFile[] = []
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    markers.push({ path: `${folder}/index.ts`, content: 'export {}\n' })
  }
  return markers
}
