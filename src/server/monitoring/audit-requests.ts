import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Audit } from '../../audit/audit.ts'
import type { Source } from '../../host/visits.ts'
import type { KeysAndTenants } from '../guards/followed-keys.ts'
import { principalOf } from '../guards/principal.ts'
import { onRefusal } from './request-log.ts'

const REFUSED: ReadonlySet<number> = new Set([401, 403, 429])

/** Has the audit log tell of each request that is refused: for its key, its origin, or a limit. */
export function auditRequests(app: FastifyInstance, { log }: Audit): void {
  const note = (request: FastifyRequest, status: number) => {
    if (!REFUSED.has(status)) return
    const { name: key, tenant } = principalOf(request)
    const { id: request_id, ip: address, method, routeOptions } = request
    // The pattern of the route alone: ids of clients are content.
    const facts = { request_id, address, key, tenant: tenant || undefined, method, route: routeOptions.url }
    log.note({ event: 'refusal', ...facts, status })
  }
  app.addHook('onResponse', (request, { statusCode }, done) => {
    note(request, statusCode)
    done()
  })
  onRefusal(app, note)
}

/** Returns where a request comes from. */
export function sourceOf({ id: requestId, ip: address }: FastifyRequest): Source {
  return { requestId, address }
}

/** Returns a function that has the audit log tell of the keys, and then of each change. */
export function keysNoter(audit: Audit): (read: KeysAndTenants) => void {
  const tell = audit.changesOf('key')
  return ({ keys }) => {
    const now = new Map<string, string>()
    // While a key is rotated, two entries have one name.
    for (const key of keys) {
      const { name = '' } = key.principal
      now.set(name, `${now.get(name) ?? ''}${JSON.stringify(key)}`)
    }
    tell(now)
  }
}
