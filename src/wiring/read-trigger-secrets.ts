import { Type } from 'typebox'
import type { DefinitionSource } from '../definition/definition.ts'
import { type Environment, interpolate } from '../definition/interpolate.ts'
import type { Problem } from '../definition/problem.ts'
import { findSecretProblem } from '../definition/secret-problem.ts'

/**
 * Reads the secrets of an agent's triggers, by their ids.
 *
 * @param problems takes those of secrets that are missing, or can be guessed
 */
export function readTriggerSecrets(
  { definition: { triggers = [] }, problemAt }: DefinitionSource,
  environment: Environment,
  problems: Problem[],
): ReadonlyMap<string, string> {
  return new Map(
    triggers.map(({ id, secret: written, signature }, index) => {
      const { value, problems: missing } = interpolate(written, Type.String(), environment)
      const secret = String(value)
      const wrong = missing[0]
        ? 'needs a variable that is not set'
        : findSecretProblem(secret, signature === 'standard')
      if (wrong !== undefined) {
        const advice = missing.flatMap(({ suggestions }) => suggestions)
        problems.push(problemAt(['triggers', index, 'secret'], `trigger '${id}': secret ${wrong}.`, advice))
      }
      return [id, secret]
    }),
  )
}
