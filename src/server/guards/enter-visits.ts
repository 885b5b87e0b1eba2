import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getOrAdd } from '../../get-or-add.ts'
import { type Source, seeing, type Ticket, type Visit, type Visits } from '../../host/visits.ts'
import type { LimitHolder, Limits } from '../../run/state/run-quota.ts'
import { isUpgrade } from '../streams/upgrade-route.ts'
import type { FollowedKeys } from './followed-keys.ts'
import { type Principal, principalOf } from './principal.ts'

/** Requests that start no run; a WebSocket asks for each of its messages. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Makes a visit of each request whose key names agents, or has limits, of those whose tenant has, and of those whose token names its user:
 * whatever serves it finds no other agents, starts no more than it may, and starts it for that user.
 *
 * @param fileKeys limits of tenants, and of the keys that triggers and schedules name
 * @param sourceOf makes a visit of every request: an audit log tells where it comes from
 */
export function enterVisits(
  app: FastifyInstance,
  visits: Visits,
  fileKeys: Pick<FollowedKeys, 'named' | 'limitsOf'> | undefined,
  sourceOf?: (request: FastifyRequest) => Source,
): void {
  const limitsOf = (tenant: string) => fileKeys?.limitsOf(tenant)
  visits.holdersOf = (tenant, key) => {
    const named = key === undefined ? undefined : fileKeys?.named(tenant, key)
    return holdersOf({ name: key, tenant, limits: named?.principal.limits }, limitsOf)
  }
  if (fileKeys) visits.hasKey = (tenant, key) => fileKeys.named(tenant, key) !== undefined
  const known = new WeakMap<Principal, Visit>()
  const visitOf = (principal: Principal) => {
    const { agents, user, name: key } = principal
    return getOrAdd(known, principal, () => ({ sees: agents && seeing(agents, key), user, key }))
  }
  // Behind the body: the parser calls back from its connection, which is of no visit.
  app.addHook('preValidation', (request, reply, done) => {
    const principal = principalOf(request)
    const holders = holdersOf(principal, limitsOf)
    const source = sourceOf?.(request)
    const visit = source ? { ...visitOf(principal), source } : visitOf(principal)
    if (holders.length > 0) {
      openTicket(visits, holders, request, reply).then((ticket) => visits.enter({ ...visit, ticket }, done), done)
    } else if (visit.sees || visit.user !== undefined || source) visits.enter(visit, done)
    else done()
  })
}

/** The key, and its tenant. */
function holdersOf(
  { name, tenant, limits }: Pick<Principal, 'name' | 'tenant' | 'limits'>,
  limitsOf: (tenant: string) => Limits | undefined,
): LimitHolder[] {
  const ofTenant = limitsOf(tenant)
  const holders: LimitHolder[] = []
  if (limits && name !== undefined) holders.push({ tenant, key: name, limits })
  if (ofTenant) holders.push({ tenant, limits: ofTenant })
  return holders
}

/** Prepares a ticket before the handler may start a run: that waits for nothing. A refusal is for the run, not for its request. */
async function openTicket(
  visits: Visits,
  holders: readonly LimitHolder[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Ticket | undefined> {
  const limiter = await visits.openLimiter?.()
  const ticket = limiter?.ticketFor(holders)
  if (!ticket) return undefined
  const connection = isUpgrade(request) ? request.raw.socket : reply.raw
  connection.once('close', () => ticket.giveBack())
  if (!READS.has(request.method)) await ticket.prepare().catch(() => {})
  if (connection.destroyed) ticket.giveBack()
  return ticket
}
