import type { TSchema } from 'typebox'
import { type Fields, mapFields } from '../json.ts'
import { formatPath } from '../wire/format-path.ts'
import type { Path } from './problem.ts'
import { schemasAt, type ValueProblem } from './schema-problems.ts'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

// `$${` first: it is a literal, whatever follows. The last alternative catches misspelt references.
const REFERENCES = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{/g
const ONE_REFERENCE = /^\$\{[^}]*\}$/

/**
 * Puts variables of the environment into the strings of a config: `${NAME}`, `${NAME:-default}`, and `$${` for a literal
 * `${`. A string that is a single reference becomes the number or boolean that the schema asks for at its place.
 * The given value is not changed.
 */
export function interpolate(
  value: unknown,
  schema: TSchema,
  environment: Environment,
): { value: unknown; problems: ValueProblem[] } {
  const problems: ValueProblem[] = []
  return { value: visit(value, []), problems }

  function visit(part: unknown, path: Path): unknown {
    if (typeof part === 'string') return part.includes('${') ? fill(part, path) : part
    if (Array.isArray(part)) return part.map((item, index) => visit(item, [...path, index]))
    if (typeof part !== 'object' || part === null) return part
    return mapFields(part as Fields, (child, key) => visit(child, [...path, key]))
  }

  function fill(text: string, path: Path): unknown {
    const filled = text.replace(REFERENCES, (match, name: string | undefined, fallback: string | undefined) => {
      if (match === '$${') return '${'
      if (name === undefined) return report(path, `${formatPath(path)} has a '\${' that is no variable.`, MISSPELT)
      const found = environment[name]
      if (found !== undefined && (found !== '' || fallback === undefined)) return found
      return fallback ?? report(path, `${formatPath(path)} needs the environment variable '${name}'.`, missing(name))
    })
    return ONE_REFERENCE.test(text) ? convert(filled, schema, path) : filled
  }

  function report(path: Path, message: string, suggestion: string): string {
    problems.push({ path, message, suggestions: [suggestion] })
    return ''
  }
}

/** The `${...}` of a text as they are written, misspelt ones included; `$${` is none. */
export function referencesIn(text: string): string[] {
  return [...text.matchAll(REFERENCES)].map(([match]) => match).filter((match) => match !== '$${')
}

/** Returns true for a text that is `${NAME}`, perhaps with a short default, and nothing else: the name of a secret, not the secret. */
export function isReference(value: unknown): boolean {
  return typeof value === 'string' && /^\$\{[A-Za-z_]\w*(?::-[^}]{0,7})?\}$/.test(value)
}

const MISSPELT = 'Write ${NAME} or ${NAME:-default} for a variable, and $${ for the two characters.'

function missing(name: string): string {
  return `Set ${name} in .env or in the environment, or write \${${name}:-default}.`
}

function convert(text: string, schema: TSchema, path: Path): unknown {
  const types = new Set(schemasAt(schema, path).map(({ type }) => type))
  if (types.has('string')) return text
  if ((types.has('number') || types.has('integer')) && text.trim() !== '' && Number.isFinite(Number(text))) {
    return Number(text)
  }
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
