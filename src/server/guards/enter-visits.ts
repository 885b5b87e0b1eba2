import type { FastifyInstance } from 'fastify'
import { seeing, type Visit, type Visits } from '../../host/visits.ts'
import { type Principal, principalOf } from './principal.ts'

/** Makes a visit of each request whose key names agents: whatever serves it finds no others. */
export function enterVisits(app: FastifyInstance, visits: Visits): void {
  const known = new WeakMap<Principal, Visit>()
  const visitOf = (principal: Principal, agents: readonly string[]) => {
    const visit = known.get(principal) ?? { sees: seeing(agents) }
    known.set(principal, visit)
    return visit
  }
  // Behind the body: the parser calls back from its connection, which is of no visit.
  app.addHook('preValidation', (request, _reply, done) => {
    const principal = principalOf(request)
    if (principal.agents) visits.enter(visitOf(principal, principal.agents), done)
    else done()
  })
}
