import type { Static, TProperties, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { findFirstProblem } from '../../definition/first-problem.ts'
import { badRequest, type HostError } from '../../errors.ts'
import { formatPath } from '../../wire/format-path.ts'

/** Value that fits a schema, or the problem of one that does not. */
export type Checked<T> =
  | { readonly value: T; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: HostError }

/**
 * Names the invalid field and its valid values. Unknown fields are ignored, as clients expect. The schema is compiled when the first
 * value arrives, because most clients use few of a server's routes.
 */
export function makeValidator<S extends TSchema>(schema: S): (value: unknown) => Checked<Static<S>> {
  let validator: Validator<TProperties, S, Static<S>> | undefined
  return (value: unknown) => {
    validator ??= Compile<S, Validator<TProperties, S, Static<S>>>(schema)
    if (validator.Check(value)) return { value }
    const { message = 'The body is not valid.', path = [] } = findFirstProblem(schema, value) ?? {}
    const field = path.length > 0 ? formatPath(path) : undefined
    return { error: badRequest(message.replace(/^It /, 'The body '), { field }) }
  }
}
