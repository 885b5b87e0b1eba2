import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { decodeText } from '../decode-text.ts'
import { badOption, messageOf, systemCodeOf } from '../errors.ts'
import { readRegularFile } from '../read-regular-file.ts'
import { type Environment, interpolate } from './interpolate.ts'
import { formatProblem, type Path } from './problem.ts'
import { findValueProblems, type ValueProblem } from './schema-problems.ts'
import { readYaml, type YamlSource } from './yaml-source.ts'

interface SettingsRules<S extends TSchema> {
  /** Name of the file in messages. */
  readonly file: string
  /** `a file of keys` */
  readonly kind: string
  readonly maxBytes: number
  readonly schema: S
  /** Finds what no schema finds, in a value that fits. */
  readonly findMistakes: (value: Static<S>) => readonly ValueProblem[]
  /** Returns advice for a place that is wrong. */
  readonly adviseOn?: (path: Path) => readonly string[]
  /** Variables that texts may name as `${NAME}`; left out where they may not. */
  readonly environment?: Environment
}

/**
 * Reads the text of a file of settings.
 *
 * @throws HostError `OPTION_INVALID` that names the file, and the line of everything that is wrong
 */
export function readSettings<S extends TSchema>(
  text: string,
  { file, kind, maxBytes, schema, findMistakes, adviseOn, environment }: SettingsRules<S>,
): { readonly value: Static<S> } & Pick<YamlSource, 'locate'> {
  const source = readYaml(text, { maxBytes, kind })
  const { locate } = source
  const filled = environment && interpolate(source.value, schema, environment)
  const value = (filled ?? source).value as Static<S>
  const find = () => {
    const misfits = filled?.problems.length ? filled.problems : findValueProblems(schema, Compile(schema), value)
    return (misfits.length > 0 ? misfits : findMistakes(value)).map(({ path, message, suggestions }) => ({
      message,
      suggestions: suggestions.length > 0 ? suggestions : (adviseOn?.(path) ?? []),
      ...locate(path),
    }))
  }
  const problems = source.problems.length > 0 ? source.problems : find()
  if (problems.length === 0) return { value, locate }
  throw badOption(problems.map((problem) => formatProblem({ ...problem, file })).join('\n'), {
    suggestions: [...new Set(problems.flatMap(({ suggestions }) => suggestions))],
  })
}

/**
 * Reads a file of settings.
 *
 * @param path absolute
 * @param file its name in messages
 * @returns undefined for one that is not there
 * @throws HostError `OPTION_INVALID` for one that cannot be read
 */
export async function readSettingsText(
  path: string,
  file: string,
  suggestions: readonly string[] = [],
): Promise<string | undefined> {
  try {
    // Names and digests are ASCII: elsewhere a lost character does no harm.
    return decodeText(await readRegularFile(path), file, () => {})
  } catch (cause) {
    if (systemCodeOf(cause) === 'ENOENT') return undefined
    throw badOption(`${file} cannot be read: ${messageOf(cause)}.`, { suggestions, cause })
  }
}
