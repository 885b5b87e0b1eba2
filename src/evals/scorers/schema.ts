import type { TSchema } from 'typebox'
import { compileSchema } from '../../definition/compile-schema.ts'
import type { Scorer } from '../scorer.ts'
import { parseJson } from './parse-json.ts'

/** 1 if the answer is JSON that matches a JSON Schema. */
export function schema(wanted: TSchema | Readonly<Record<string, unknown>>): Scorer {
  const compiled = compileSchema(wanted)
  return ({ output }) => {
    const parsed = parseJson(output)
    const problems = parsed ? compiled.problems(parsed.value, 'The answer') : ['The answer is no JSON.']
    return {
      name: 'schema',
      score: problems.length === 0 ? 1 : 0,
      ...(problems.length > 0 ? { metadata: { problems } } : {}),
    }
  }
}
