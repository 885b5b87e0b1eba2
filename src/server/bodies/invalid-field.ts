import { HostError } from '../../errors.ts'

/** Error that names the field of a request that cannot be used: `tools[0].name must be ...`. */
export function invalidField(field: string, what: string): HostError {
  return new HostError('REQUEST_INVALID', `${field} ${what}`, { field })
}
