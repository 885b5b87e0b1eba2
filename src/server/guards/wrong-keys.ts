import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HostError } from '../../errors.ts'

const WINDOW_MS = 60_000
/** Number of addresses above which counting starts again. */
const MAX_ADDRESSES = 100_000

/** Returns what a request with a wrong key is refused with. */
export type RefuseWrongKey = (request: FastifyRequest) => HostError

const invalid = (): HostError => new HostError('UNAUTHORIZED', 'Invalid API key')

/**
 * Counts the wrong keys of each address, and answers those beyond the limit of a minute with 429. A key that is right is never refused:
 * behind a proxy everybody may have one address.
 *
 * @param limit 0 for none
 */
export function limitWrongKeys(app: FastifyInstance, limit: number): RefuseWrongKey {
  if (limit === 0) return invalid
  const counts = new Map<string, number>()
  const clock = setInterval(() => counts.clear(), WINDOW_MS).unref()
  app.addHook('onClose', async () => clearInterval(clock))
  return ({ ip }) => {
    const count = (counts.get(ip) ?? 0) + 1
    if (counts.size >= MAX_ADDRESSES) counts.clear()
    counts.set(ip, count)
    return count > limit ? new HostError('TOO_MANY_ATTEMPTS', 'Too many wrong keys from this address') : invalid()
  }
}
