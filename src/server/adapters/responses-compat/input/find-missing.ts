import { badRequest, type HostError } from '../../../../errors.ts'
import { fieldsOf } from '../../../../json.ts'

/** Problem of a request without `model` or `input`. `null` and empty values count as absent. */
export function findMissing(body: unknown): HostError | undefined {
  const { model, input } = fieldsOf(body)
  const isEmpty = (value: unknown) => (value ?? '') === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty(model) || isEmpty(input) ? badRequest('input and model are required') : undefined
}
