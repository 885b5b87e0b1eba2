import { badRequest, HostError } from '../../errors.ts'
import { type AgentHost, VISITS } from '../../host/host.ts'
import { checkAnswers } from '../../host/waiting-run.ts'
import { nowSeconds } from '../../now-seconds.ts'
import { type Before, type BeforeOptions, loadBefore } from '../continuation/before.ts'
import { DECISION_FIRST, waitsForPerson } from '../continuation/join-decisions.ts'
import { type Given, type NextRun, next } from '../continuation/next.ts'
import { HistoryBudget } from '../conversations/history-budget.ts'
import { sizeOf } from '../conversations/truncate.ts'
import { type Claim, joinClaims } from '../decisions/claim.ts'
import type { DurableRuns } from '../durable-runs.ts'
import type { RunService } from '../run-service.ts'
import { ADAPTER_EVENTS, type RunOptions } from '../runs/run-facts.ts'
import type { StoredRun } from '../runs/run-store.ts'
import type { BegunRequest } from './adapter-runs.ts'

/** Request of the host itself. */
export interface OwnRequest extends Omit<BegunRequest, 'thread'>, Partial<Pick<Given, 'id' | 'named' | 'key'>> {
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
  parts: EnqueueParts,
  runs: DurableRuns,
  { claim, ...request }: OwnRequest,
): Promise<StoredRun> {
  const { draft, turn } = await nextOf(parts, runs, request, { background: true })
  return runs.enqueue({ draft: { ...draft, claim: joinClaims(draft.claim, claim) }, turn })
}

/**
 * Makes the run of a request.
 *
 * @throws HostError as `TenantRuns.begin`
 */
export async function nextOf(
  { service, host, adapter }: EnqueueParts,
  runs: DurableRuns,
  { agent, messages, previousId, data = null, id = service.ids.next(), ...request }: Omit<OwnRequest, 'claim'>,
  own: Pick<RunOptions, 'background'>,
): Promise<NextRun> {
  const { named, idempotency, key, answers, by = adapter, ...options } = request
  const { isRestartSafe } = host.resolve(agent).agent
  const budget = new HistoryBudget(service.limits)
  for (const message of messages) budget.addItems(1, sizeOf(message))
  const lastId = named ? named.head : previousId
  const before = lastId == null ? undefined : await readBefore(runs, lastId, { budget, named, readsContinued: true })
  if (messages.length > 0 && waitsForPerson(answers ?? []))
    throw badRequest(`answers: ${DECISION_FIRST}`, { field: 'answers' })
  if (answers) checkAnswers({ runId: lastId ?? id, agent, pending: before?.conversation.last.pending ?? [] }, answers)
  const { user = options.user } = host[VISITS].current ?? {}
  const kept = { ...options, user, ...own, shows: ADAPTER_EVENTS, isRestartSafe }
  const begun = { id, createdAt: nowSeconds(), tenant: runs.tenant, adapter, agent, messages, data, named, key }
  return next(before, { ...begun, answers, idempotency, options: kept, by, isOnce: true }, runs.rulesFor(agent))
}

async function readBefore(runs: DurableRuns, id: string, options: BeforeOptions): Promise<Before | undefined> {
  const before = await loadBefore(runs, id, options)
  if (!before && !options.named) throw runNotFound()
  return before
}

export function runNotFound(): HostError {
  return new HostError('RESPONSE_NOT_FOUND', 'Run not found')
}
