import { Compile } from 'typebox/compile'
import { hasPatterns } from '../../definition/has-patterns.ts'
import { findValueProblems } from '../../definition/schema-problems.ts'
import { messageOf } from '../../errors.ts'
import { CheckTime } from './check-time.ts'
import { findLostReference } from './lost-reference.ts'

type Schema = Readonly<Record<string, unknown>>

/** Returns the mismatch with a client's schema; undefined if the value matches. Nothing matches a schema that cannot be used. */
export function findMisfit(schema: Schema, value: unknown, time: CheckTime): string | undefined {
  try {
    return time.problemOf(
      () => findValueProblems(schema, Compile(schema), value, { unknownKeys: 'ignore' })[0]?.message,
    )
  } catch (error) {
    return `its schema cannot be used: ${messageOf(error)}`
  }
}

/** Makes the check against a schema that is used again and again: compiled once, and limited in time only if it has patterns. */
export function makeMisfitFinder(schema: Schema): (value: unknown) => string | undefined {
  const validator = Compile(schema)
  const find = (value: unknown) => findValueProblems(schema, validator, value, { unknownKeys: 'ignore' })[0]?.message
  return hasPatterns(schema) ? (value) => new CheckTime().problemOf(() => find(value)) : find
}

/** Returns why a schema from outside cannot be used; undefined when it can. */
export function findSchemaFault(schema: Schema, time: CheckTime): string | undefined {
  const lost = findLostReference(schema)
  if (lost !== undefined) return `its $ref '${lost}' leads nowhere.`
  try {
    return time.problemOf(() => void Compile(schema).Check({}))
  } catch (error) {
    return messageOf(error)
  }
}
