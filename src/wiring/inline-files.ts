import { realpath } from 'node:fs/promises'
import { extname } from 'node:path'
import { deepFreeze } from '../definition/deep-freeze.ts'
import { DefinitionSource, type ModuleEntry } from '../definition/definition.ts'
import type { Path, Problem } from '../definition/problem.ts'
import { schemasAt } from '../definition/schema-problems.ts'
import { messageOf, systemCodeOf } from '../errors.ts'
import { isObject } from '../json.ts'
import { findProjectFile } from '../module/find-project-file.ts'
import type { LoadedModule } from '../module/load-module.ts'
import { readRegularFile } from '../read-regular-file.ts'

/** Of a file with a text. */
const MAX_BYTES = 256 * 1024
const ENDING = '.md'

interface Inlining {
  /** Absolute path of the project. */
  readonly dir: string
  readonly loaded: ReadonlyMap<string, LoadedModule>
  /** Gets the files (absolute paths), those that are not there included. */
  readonly files: Set<string>
  readonly problems: Problem[]
}

/**
 * Puts the texts of Markdown files of the project in the place of `{ file: <path> }`, wherever a config takes a text. From here on the
 * agent is as if they were written in its file: a variable in such a text is none.
 */
export async function inlineFiles(read: DefinitionSource, inlining: Inlining): Promise<DefinitionSource> {
  const { definition, file, problemAt } = read
  const modules = await Promise.all(
    definition.modules.map(async (entry, index): Promise<ModuleEntry> => {
      const schema = inlining.loaded.get(entry.id)?.module.config
      if (!schema || !namesFile(entry.config)) return entry
      const visit = async (value: unknown, path: Path): Promise<unknown> => {
        const named = namedFile(value)
        if (named !== undefined && schemasAt(schema, path).some(({ type }) => type === 'string')) {
          try {
            return await readText(named, inlining)
          } catch (error) {
            const at = ['modules', index, 'config', ...path, 'file']
            const where = `module '${entry.id}' (${entry.module}), config: ${path.join('.')}:`
            inlining.problems.push(problemAt(at, `${where} ${describe(named, error)}`))
            return ''
          }
        }
        if (Array.isArray(value)) return Promise.all(value.map((item, place) => visit(item, [...path, place])))
        if (!isObject(value)) return value
        const fields = Object.entries(value).map(async ([key, field]) => [key, await visit(field, [...path, key])])
        return Object.fromEntries(await Promise.all(fields)) as unknown
      }
      return { ...entry, config: (await visit(entry.config, [])) as ModuleEntry['config'] }
    }),
  )
  if (modules.every((entry, index) => entry === definition.modules[index])) return read
  return new DefinitionSource(deepFreeze({ ...definition, modules }), file, problemAt)
}

/** Returns a value, or the text of the file that it names; undefined for one that cannot be read. */
export async function inlineFile(value: unknown, dir: string): Promise<unknown> {
  const named = namedFile(value)
  return named === undefined ? value : readText(named, { dir, files: new Set() }).catch(() => undefined)
}

/** Most configs name none: they stay as they are. */
function namesFile(value: unknown): boolean {
  if (namedFile(value) !== undefined) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(namesFile)
}

function namedFile(value: unknown): string | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined
  return typeof value.file === 'string' ? value.file : undefined
}

async function readText(named: string, { dir, files }: Pick<Inlining, 'dir' | 'files'>): Promise<string> {
  if (extname(named) !== ENDING) throw new Error(`'${named}' is no Markdown file (${ENDING}).`)
  const path = findProjectFile(dir, named)
  files.add(path)
  const bytes = await readRegularFile(path, { maxBytes: MAX_BYTES, within: await realpath(dir) })
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  return text.replace(/\r?\n$/, '').replaceAll('${', () => '$${')
}

function describe(named: string, error: unknown): string {
  if (systemCodeOf(error) === 'ENOENT') return `There is no file ${named}.`
  if (error instanceof TypeError) return `${named} is not UTF-8.`
  const reason = messageOf(error)
  return reason.includes(`'${named}'`) ? reason : `${named} cannot be read: ${reason}.`
}
