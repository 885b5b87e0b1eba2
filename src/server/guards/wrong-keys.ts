import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HostError } from '../../errors.ts'

const WINDOW_MS = 60_000
/** Number of addresses above which counting starts again. */
const MAX_ADDRESSES = 100_000

/**
 * Refuses the requests of addresses that have sent too many wrong keys within a minute.
 *
 * @param limit 0 for none
 * @returns a function to report a wrong key with; undefined without a limit
 */
export function limitWrongKeys(app: FastifyInstance, limit: number): ((request: FastifyRequest) => void) | undefined {
  if (limit === 0) return undefined
  const counts = new Map<string, number>()
  const clock = setInterval(() => counts.clear(), WINDOW_MS).unref()
  app.addHook('onClose', async () => clearInterval(clock))
  app.addHook('onRequest', ({ ip }, _reply, done) => {
    const isOver = (counts.get(ip) ?? 0) >= limit
    done(isOver ? new HostError('TOO_MANY_ATTEMPTS', 'Too many wrong keys from this address') : undefined)
  })
  return ({ ip }) => {
    if (counts.size >= MAX_ADDRESSES) counts.clear()
    counts.set(ip, (counts.get(ip) ?? 0) + 1)
  }
}
