import { badRequest, type HostError } from '../../errors.ts'

/** Error that names the field of a request that cannot be used: `tools[0].name must be ...`. */
export function invalidField(field: string, what: string): HostError {
  return badRequest(`${field} ${what}`, { field })
}

/** The same with a sentence of its own behind the name: `tools[0].type: it cannot be ...`. */
export function refusedField(field: string, reason: string): HostError {
  return badRequest(`${field}: ${reason}`, { field })
}
