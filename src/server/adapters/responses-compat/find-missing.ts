import { HostError } from '../../../errors.ts'

/** Problem of a request without `model` or `input`. `null` counts as absent, and so does what is empty. */
export function findMissing(body: unknown): HostError | undefined {
  const { model, input } = (body ?? {}) as { model?: unknown; input?: unknown }
  const isEmpty = (value: unknown) => (value ?? '') === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty(model) || isEmpty(input) ? new HostError('REQUEST_INVALID', 'input and model are required') : undefined
}
