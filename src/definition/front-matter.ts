import { HostError } from '../errors.ts'
import { requireGiven, TEXT } from '../given.ts'
import { isObject } from '../json.ts'
import { readYamlText } from './yaml-text.ts'

/** A text with YAML above it, between two lines of `---`. */
export interface FrontMatter {
  readonly data: Readonly<Record<string, unknown>>
  /** The text below. */
  readonly text: string
  /** Line of the file in which `text` begins. */
  readonly textLine: number
  /** Returns the line of the file in which a field of `data` stands; without it, where `data` begins. */
  lineOf(field: string): number
}

const FENCED = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?\r?\n)?---[ \t]*(?:\r?\n|$)/

/**
 * Reads a text file that begins with YAML front matter.
 *
 * @param file name of the file in errors
 * @throws HostError `MODULE_INVALID` naming file, line and reason
 *
 * @example
 * ```ts
 * export function titleOf(text: string, file: string): string {
 *   const { data, lineOf } = readFrontMatter(text, file)
 *   if (typeof data.title !== 'string') throw new Error(`${file}:${lineOf('title')}: title must be a text.`)
 *   return data.title
 * }
 * ```
 */
export function readFrontMatter(source: string, file: string): FrontMatter {
  requireGiven(TEXT, source, 'source')
  requireGiven(TEXT, file, 'file')
  const [fenced, yaml = ''] = FENCED.exec(source) ?? []
  if (fenced === undefined) {
    throw new HostError('MODULE_INVALID', `${file}:1: the file does not begin with front matter.`, {
      suggestions: ['Begin it with: a line of ---, lines of YAML, and another line of ---'],
    })
  }
  // The fence is the first line.
  const { data, lineOf } = readYamlText(yaml, file, { kind: 'front matter', linesAbove: 1 })
  if (!isObject(data)) {
    throw new HostError('MODULE_INVALID', `${file}:1: the front matter must be a map: lines of \`name: value\`.`)
  }
  return {
    data,
    text: source.slice(fenced.length),
    textLine: fenced.split('\n').length,
    lineOf: (field) => lineOf([field]),
  }
}
