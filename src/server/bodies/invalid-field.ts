import { badRequest, type HostError } from '../../errors.ts'

/** Error that names the field of a request that cannot be used: `tools[0].name must be ...`. */
export function invalidField(field: string, what: string): HostError {
  return badRequest(`${field} ${what}`, { field })
}
