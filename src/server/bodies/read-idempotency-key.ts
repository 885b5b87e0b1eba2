import type { FastifyRequest } from 'fastify'
import { badRequest } from '../../errors.ts'
import { principalOf } from '../guards/principal.ts'

/**
 * Reads the `Idempotency-Key` of a request. It counts for its sender alone: two holders of keys may choose the same text.
 *
 * @throws HostError `REQUEST_INVALID`
 */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > 255) {
    throw badRequest('Idempotency-Key must have 1 to 255 characters')
  }
  const { tenant, name } = principalOf(request)
  // A header holds no NUL.
  return tenant === '' && name === undefined ? key : [tenant, name ?? '', key].join('\0')
}
