import type { TSchema } from 'typebox'
import { isReference } from '../definition/interpolate.ts'
import type { Path } from '../definition/problem.ts'
import { schemasAt } from '../definition/schema-problems.ts'
import { fieldsOf, ownValue } from '../json.ts'
import { REDACTED } from '../redaction/redacted.ts'
import { isSecretName } from '../redaction/secret-name.ts'

/** Config of a module for those who look at it, and the places of its secrets. */
export interface ShownConfig {
  readonly config: Readonly<Record<string, unknown>>
  /** Paths within the config. */
  readonly secretPaths: readonly Path[]
}

/**
 * Returns a config without the values of fields that the schema marks with `secret: true`, without texts of fields whose names
 * speak of a secret, without the secrets among arguments of programs (`secret: 'arguments'`), and with `${NAME}` as written.
 *
 * @param written the same config before variables and defaults were filled in
 */
export function shownConfig(schema: TSchema, config: unknown, written: unknown): ShownConfig {
  const secretPaths: Path[] = []
  return { config: fieldsOf(show(config, written, [])), secretPaths }

  function hide(source: unknown, path: Path): unknown {
    secretPaths.push(path)
    return isReference(source) ? source : REDACTED
  }

  function show(value: unknown, source: unknown, path: Path): unknown {
    if (schemasAt(schema, path).some(({ secret }) => secret === true)) return hide(source, path)
    if (typeof value === 'string' && path.some((key) => isSecretName(String(key)))) return hide(source, path)
    if (typeof source === 'string' && source.includes('${')) return source
    if (Array.isArray(value)) {
      const areArguments = schemasAt(schema, path).some(({ secret }) => secret === 'arguments')
      return value.map((item, index) => {
        const written = ownValue(source, index)
        const isHidden = areArguments && isSecretArgument(written, value[index - 1])
        return isHidden ? hide(written, [...path, index]) : show(item, written, [...path, index])
      })
    }
    if (typeof value !== 'object' || value === null) return value
    const fields = Object.entries(value)
    return Object.fromEntries(fields.map(([key, field]) => [key, show(field, ownValue(source, key), [...path, key])]))
  }
}

const FLAG = /^--?([A-Za-z][\w-]*)(=.+)?$/
/** Letters and digits in one long word: a token, and no name, path or address. */
const TOKEN = /^(?=.*\d)(?=.*[A-Za-z])[\w+=-]{16,}$/

/** Returns true for an argument of a program that may be a secret: by the flag that it has or follows, or by its looks. */
function isSecretArgument(argument: unknown, before: unknown): boolean {
  if (typeof argument !== 'string') return false
  const [isFlag, name = '', value] = FLAG.exec(argument) ?? []
  if (isFlag) return value !== undefined && (isSecretName(name) || looksSecret(value.slice(1)))
  const [, flag = '', ownValue] = FLAG.exec(String(before)) ?? []
  return (ownValue === undefined && isSecretName(flag)) || looksSecret(argument)
}

function looksSecret(text: string): boolean {
  return TOKEN.test(text) || /:\/\/[^/]*@/.test(text)
}
