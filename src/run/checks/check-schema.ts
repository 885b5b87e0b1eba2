import { Compile } from 'typebox/compile'
import { hasPatterns } from '../../definition/has-patterns.ts'
import { isTimeLimit, runLimited } from '../../definition/run-limited.ts'
import { findValueProblems } from '../../definition/schema-problems.ts'
import { messageOf } from '../../errors.ts'
import { findLostReference } from './lost-reference.ts'

type Schema = Readonly<Record<string, unknown>>

/** Time of one check. Schemas come from clients and MCP servers, and may take for ever. */
const CHECK_MS = 200

/** Returns the mismatch with a client's schema; undefined if the value matches. */
export function findMisfit(schema: Schema, value: unknown): string | undefined {
  return withinTime(() => findValueProblems(schema, Compile(schema), value, { unknownKeys: 'ignore' })[0]?.message)
}

/** Makes the check against a schema that is used again and again: compiled once, and limited in time only if it has patterns. */
export function makeMisfitFinder(schema: Schema): (value: unknown) => string | undefined {
  const validator = Compile(schema)
  const find = (value: unknown) => findValueProblems(schema, validator, value, { unknownKeys: 'ignore' })[0]?.message
  return hasPatterns(schema) ? (value) => withinTime(() => find(value)) : find
}

/** Returns why a schema from outside cannot be used; undefined when it can. */
export function findSchemaFault(schema: Schema): string | undefined {
  const lost = findLostReference(schema)
  if (lost !== undefined) return `its $ref '${lost}' leads nowhere.`
  try {
    return withinTime(() => void Compile(schema).Check({}))
  } catch (error) {
    return messageOf(error)
  }
}

function withinTime(check: () => string | undefined): string | undefined {
  try {
    return runLimited(check, CHECK_MS)
  } catch (error) {
    if (!isTimeLimit(error)) throw error
    return `its check takes longer than ${CHECK_MS} ms.`
  }
}
