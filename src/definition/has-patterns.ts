import { JSON_OBJECT, requireGiven } from '../given.ts'

/**
 * Returns true for a JSON Schema with regular expressions or references. The former may backtrack and the latter multiply without end:
 * check values with `runLimited` then. A property named `pattern` counts too.
 *
 * @example
 * ```ts
 * export function matchesInTime(schema: object, value: unknown): boolean {
 *   const { matches } = compileSchema(schema)
 *   return hasPatterns(schema) ? runLimited(() => matches(value), 200) : matches(value)
 * }
 * ```
 */
export function hasPatterns(schema: object): boolean {
  requireGiven(JSON_OBJECT, schema, 'schema')
  return /"(?:pattern|\$(?:r|dynamicR|recursiveR)ef")/.test(JSON.stringify(schema))
}
