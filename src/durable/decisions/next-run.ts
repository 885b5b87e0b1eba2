import { HostError } from '../../errors.ts'
import type { AgentHost } from '../../host/host.ts'
import type { Message } from '../../protocols/message.ts'
import type { RunEvent } from '../../run/run-event.ts'
import type { Turn } from '../../run/turn.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import { isAdapterFacts } from '../adapter-runs/adapter-facts.ts'
import type { ConversationStore } from '../conversations/conversation-store.ts'
import { makeTurn, type StoredTurn } from '../conversations/conversation-tree.ts'
import { type Job, toNextJob } from '../queue/job.ts'
import { type RunIds, uuidOf } from '../runs/run-ids.ts'
import type { Draft } from '../runs/run-row.ts'
import type { RunStore } from '../runs/run-store.ts'
import { nowSeconds } from '../runs/steps.ts'

/** Run that goes on with decisions, as it is put into the queue. */
export interface NextRun {
  readonly draft: Draft
  readonly job: Job
}

/** Identity of a run that continues a waiting one. */
export interface NextIdentity {
  readonly id: string
  readonly createdAt: number
  /** Id of the run that waits. */
  readonly previousId: string
  /** Id of the conversation that both belong to. */
  readonly conversation: string | undefined
}

/** Part that a client protocol has in runs which go on without a request. */
export interface Continuation {
  /** Types of the events of a run that continues after a decision, for the client that decided. */
  readonly shows: readonly RunEvent['type'][]
  /** Facts of the run that continues. */
  readonly describeFacts: (waiting: Facts, next: NextIdentity) => Facts | Promise<Facts>
  /**
   * Reads the conversation up to a turn as its agent sees it, the turn included.
   *
   * @throws HostError `AGENT_NOT_FOUND`, `RESPONSE_NOT_FOUND`, `RECORD_UNREADABLE`
   */
  readonly readMessages: (tenant: string, turn: StoredTurn, job: Job) => Promise<readonly Message[]>
}

export interface NextRunOptions {
  readonly tenant: string
  readonly store: RunStore
  readonly conversations: ConversationStore
  readonly ids: RunIds
  readonly host: Pick<AgentHost, 'check' | 'openVariant'>
  readonly continuation: Continuation
}

/**
 * Describes the run that continues a waiting one with decisions; undefined when it waits for its client, too.
 *
 * @throws HostError `RESPONSE_NOT_FOUND`, `AGENT_NOT_FOUND`, `RECORD_UNREADABLE`
 */
export async function makeNextRun(
  { tenant, store, conversations, ids, host, continuation }: NextRunOptions,
  runId: string,
  answers: readonly PendingAnswer[],
): Promise<NextRun | undefined> {
  const [waiting, kept, named] = await Promise.all([
    store.load(runId),
    store.readJob(runId),
    conversations.endingWith(runId),
  ])
  if (!waiting || !kept) throw new HostError('RESPONSE_NOT_FOUND', 'Response not found')
  const { pending = [] } = waiting.turn
  if (answers.length < pending.length) return undefined
  const [id, createdAt, conversation] = [ids.next(), nowSeconds(), named?.id]
  const job = {
    ...toNextJob(kept, answers),
    shows: isAdapterFacts(waiting.row.facts) ? kept.shows : continuation.shows,
  }
  const made = makeTurn(id, createdAt, [], waiting.turn, pending)
  const turn = conversation === undefined ? made : { ...made, conversation }
  const messages = await continuation.readMessages(tenant, turn, job)
  if (job.options.variant) await host.openVariant(job.agent, job.options.variant)
  host.check(job.agent, toTurn(tenant, turn, job, messages))
  const next = { id, createdAt, previousId: runId, conversation }
  const facts = await continuation.describeFacts(waiting.row.facts, next)
  const claim = named && conversations.claim(named, id)
  // A run that was deleted meanwhile takes its approvals with it: then nothing goes on.
  return { draft: { id, facts, items: [], turn, earlier: [], idempotency: undefined, claim }, job }
}

/** Returns the turn of an agent that a job is, with the conversation as it was read. */
export function toTurn(
  tenant: string,
  { response_id, pending }: StoredTurn,
  { options, answers, answersTo }: Job,
  messages: readonly Message[],
): Turn {
  return { runId: uuidOf(response_id), messages, answers, answersTo, pending, ...options, tenant }
}
