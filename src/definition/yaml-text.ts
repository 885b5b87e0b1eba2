import { HostError } from '../errors.ts'
import { COUNT, KEY, list, object, optional, requireGiven, TEXT } from '../given.ts'
import type { Path } from './problem.ts'
import { readYaml } from './yaml-source.ts'

/** Value of a YAML text. */
export interface YamlText {
  readonly data: unknown
  /** Returns the line of the file in which a value stands; of a missing one, where its parent does. */
  lineOf(path: readonly (string | number)[]): number
}

/** Options of {@link readYamlText}. */
export interface YamlTextOptions {
  /** Default: 256 KiB. */
  readonly maxBytes?: number
  /** Name of the text in errors: `an OpenAPI document`. */
  readonly kind?: string
  /** Lines of the file above the text. Default: 0. */
  readonly linesAbove?: number
}

const OPTIONS = object({ maxBytes: optional(COUNT), kind: optional(TEXT), linesAbove: optional(COUNT) })
const PATH = list(KEY)

/**
 * Reads one YAML document of a file. Aliases are limited, and a key that stands twice is an error.
 *
 * @param file name of the file in errors
 * @throws HostError `MODULE_INVALID` naming file, line and reason
 *
 * @example
 * ```ts
 * export function readRules(text: string): unknown {
 *   const { data } = readYamlText(text, 'rules.yml', { kind: 'a file of rules' })
 *   return data
 * }
 * ```
 */
export function readYamlText(text: string, file: string, given: YamlTextOptions = {}): YamlText {
  requireGiven(TEXT, text, 'text')
  requireGiven(TEXT, file, 'file')
  requireGiven(OPTIONS, given, 'options')
  const { linesAbove = 0, ...options } = given
  const { value, problems, locate } = readYaml(text, options)
  const [problem] = problems
  if (problem) {
    const { message, line = 1, suggestions } = problem
    throw new HostError('MODULE_INVALID', `${file}:${line + linesAbove}: ${message}`, { suggestions })
  }
  return {
    data: value,
    lineOf: (path: Path) => {
      requireGiven(PATH, path, 'path')
      return locate(path).line + linesAbove
    },
  }
}
