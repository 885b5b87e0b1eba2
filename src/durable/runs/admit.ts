import { type AgentHost, VISITS } from '../../host/host.ts'
import type { RunFacts } from './run-facts.ts'
import type { Draft } from './run-row.ts'

/**
 * Does work that starts a run, once limits allow that: those of the sender, or, for a run that goes on without a request of its client, those of the key
 * that began it.
 *
 * @throws as `Visits.admitted`
 */
export function admit<T>(
  { [VISITS]: visits }: AgentHost,
  tenant: string,
  { isUnasked, key }: RunFacts,
  work: () => Promise<T>,
): Promise<T> {
  return isUnasked ? visits.chargedTo(tenant, key, async () => visits.admitted(work)) : visits.admitted(work)
}

/** Returns a run with the key whose limits count, for the runs that go on from it. */
export function withKey({ [VISITS]: { current } }: AgentHost, draft: Draft): Draft {
  const { facts } = draft
  if (!current?.ticket || current.key === undefined || facts.key !== undefined || facts.isUnasked) return draft
  return { ...draft, facts: { ...facts, key: current.key } }
}
