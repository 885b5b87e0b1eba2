import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { JSON_OBJECT, requireGiven } from '../given.ts'
import { fillDefaults } from './fill-defaults.ts'
import { findValueProblems } from './schema-problems.ts'

/** A JSON schema that is ready to check values. */
export interface CompiledSchema<Schema extends TSchema = TSchema> {
  readonly schema: Schema
  /** Returns true for a value that matches. */
  matches(value: unknown): boolean
  /**
   * Returns what does not match, a sentence for each problem: `address.zip must be a number.`
   *
   * @param subject name of the value as a whole
   */
  problems(value: unknown, subject: string): string[]
  /** Fills in the defaults of the schema that the value lacks, in place, and returns it. */
  fill(value: unknown): unknown
}

/**
 * Compiles a JSON schema, once for many values: building the check costs more than running it.
 *
 * @example
 * ```ts
 * const address = compileSchema({ type: 'object', properties: { zip: { type: 'number', default: 0 } } })
 *
 * export function checkAddress(value: unknown): string[] {
 *   return address.matches(address.fill(value)) ? [] : address.problems(value, 'the address')
 * }
 * ```
 */
export function compileSchema<Schema extends TSchema>(schema: Schema): CompiledSchema<Schema> {
  requireGiven(JSON_OBJECT, schema, 'schema')
  const validator = Compile(schema)
  return {
    schema,
    matches: (value) => validator.Check(value),
    problems(value, subject) {
      const found = findValueProblems(schema, validator, value, { unknownKeys: 'ignore', subject })
      return [...new Set(found.map(({ message }) => message))]
    },
    fill: (value) => fillDefaults(schema, value),
  }
}
