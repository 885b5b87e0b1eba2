import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { findFirstProblem } from '../../definition/first-problem.ts'
import { formatPath } from '../../definition/problem.ts'
import { HostError } from '../../errors.ts'

/**
 * Names the invalid field and its valid values. Unknown fields are ignored, as clients expect. The schema is compiled when the first
 * value arrives, because most clients use few of a server's routes.
 */
export function makeValidator(schema: TSchema): (value: unknown) => { value?: unknown; error?: HostError } {
  let validator: Validator | undefined
  return (value: unknown) => {
    validator ??= Compile(schema)
    if (validator.Check(value)) return { value }
    const { message = 'The body is not valid.', path = [] } = findFirstProblem(schema, value) ?? {}
    const field = path.length > 0 ? formatPath(path) : undefined
    return { error: new HostError('REQUEST_INVALID', message.replace(/^It /, 'The body '), { field }) }
  }
}
