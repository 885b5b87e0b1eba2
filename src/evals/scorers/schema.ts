import type { TSchema } from 'typebox'
import { compileSchema } from '../../definition/compile-schema.ts'
import type { Scorer } from '../scorer.ts'
import { parseFenced } from './parse-fenced.ts'

/** 1 if the answer is JSON that matches a JSON Schema. */
export function schema(wanted: TSchema | Readonly<Record<string, unknown>>): Scorer {
  const compiled = compileSchema(wanted)
  return ({ output }) => {
    const value = parseFenced(output)
    const problems = value === undefined ? ['The answer is no JSON.'] : compiled.problems(value, 'The answer')
    return {
      name: 'schema',
      score: problems.length === 0 ? 1 : 0,
      ...(problems.length > 0 ? { metadata: { problems } } : {}),
    }
  }
}
