import { HostError } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import { type Before, type BeforeOptions, loadBefore } from '../continuation/before.ts'
import { type Given, next } from '../continuation/next.ts'
import { HistoryBudget } from '../conversations/history-budget.ts'
import { lengthOf } from '../conversations/truncate.ts'
import { type Claim, joinClaims } from '../decisions/claim.ts'
import type { DurableRuns } from '../durable-runs.ts'
import type { RunService } from '../run-service.ts'
import { ADAPTER_EVENTS } from '../runs/run-facts.ts'
import type { StoredRun } from '../runs/run-store.ts'
import { nowSeconds } from '../runs/steps.ts'
import type { DurableRequest } from './adapter-runs.ts'

/** Request of the host itself. */
export interface OwnRequest extends DurableRequest, Partial<Pick<Given, 'id' | 'named' | 'idempotency' | 'key'>> {
  /** Changes that are committed with the run. */
  readonly claim?: Claim | undefined
}

export interface EnqueueParts {
  readonly service: RunService
  readonly host: AgentHost
  /** Name under which data of the request is stored. */
  readonly adapter: string
}

/**
 * Stores a run for the next free worker.
 *
 * @throws HostError as `TenantRuns.start`
 * @throws RequestRepeated when another was quicker
 */
export async function enqueueRequest(
  { service, host, adapter }: EnqueueParts,
  runs: DurableRuns,
  { agent, messages, previousId, data = null, id = service.ids.next(), ...request }: OwnRequest,
): Promise<StoredRun> {
  const { named, idempotency, key, claim, ...options } = request
  const { isRestartSafe } = host.resolve(agent).agent
  const budget = new HistoryBudget(service.limits)
  for (const message of messages) budget.addItems(1, lengthOf(message))
  const lastId = named ? named.head : previousId
  const before = lastId == null ? undefined : await readBefore(runs, lastId, { budget, named, readsContinued: true })
  const kept = { ...options, background: true, shows: ADAPTER_EVENTS, isRestartSafe }
  const begun = { id, createdAt: nowSeconds(), tenant: runs.tenant, adapter, agent, messages, data, named, key }
  const { draft, turn } = next(
    before,
    { ...begun, idempotency, options: kept, by: adapter, isOnce: true },
    runs.rulesFor(agent),
  )
  return runs.enqueue({ draft: { ...draft, claim: joinClaims(draft.claim, claim) }, turn })
}

async function readBefore(runs: DurableRuns, id: string, options: BeforeOptions): Promise<Before> {
  const before = await loadBefore(runs, id, options)
  if (!before) throw runNotFound()
  return before
}

export function runNotFound(): HostError {
  return new HostError('RESPONSE_NOT_FOUND', 'Run not found')
}
