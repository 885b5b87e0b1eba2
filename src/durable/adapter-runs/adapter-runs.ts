import type { ClientCode } from '../../errors.ts'
import type { WaitingOptions } from '../../host/waiting-run.ts'
import type { Message } from '../../protocols/message.ts'
import type { Usage } from '../../protocols/run.ts'
import type { RunHandle, RunResult, Turn } from '../../run/turn.ts'
import type { GivenAnswer, PendingAnswer, PendingCall } from '../../run/waiting/pending-call.ts'
import type { IdempotentRequest } from '../idempotency/idempotent-requests.ts'
import type { DurableEvent } from '../runs/durable-event.ts'

/**
 * Durable runs of a project as one adapter, or a program, uses them: kept in the store, carried out by any server that shares it, and
 * followed and answered from each of them. The store is opened at their first use.
 *
 * @example
 * ```ts
 * export async function startTask(runs: AdapterRuns, tenant: string, text: string): Promise<string> {
 *   const own = runs.of(tenant)
 *   const { id } = await own.start({ agent: 'example', messages: [{ role: 'user', content: text }] })
 *   const outcome = await own.outcome(id)
 *   return outcome.text
 * }
 * ```
 */
export interface AdapterRuns {
  /** Returns the runs of a tenant, '' for the nameless one: nothing of another exists in them. */
  of(tenant: string): TenantRuns
}

/** Durable runs of one tenant. Every method fails with `STORE_UNAVAILABLE` while the store does, and with `SHUTTING_DOWN` once the project is closed. */
export interface TenantRuns {
  /**
   * Stores a run for the next free worker: of this process, or of another that shares the store. A message to a run that waits rejects
   * what is open.
   *
   * @throws HostError `AGENT_NOT_FOUND`; `REQUEST_INVALID` for what the agent does not take, and for too long a history; `OVERLOADED`;
   *   `RESPONSE_NOT_FOUND` and `RESPONSE_CONFLICT` for a previous run that is gone, or in progress
   */
  start(request: DurableRequest): Promise<StoredRunInfo>
  /**
   * Stores a run and carries it out in this process: its events and its result come here. With answers and no messages, it goes on with the
   * run before, once: of several callers one does. What has no answer keeps waiting, in the run that goes on. A run that fails, or is
   * aborted, before it has called anything gives the answers back.
   *
   * @throws HostError as {@link TenantRuns.start}; `REQUEST_INVALID` for an answer that does not fit, and `APPROVAL_DECIDED` when its call is
   *   answered or cancelled; `SHUTTING_DOWN`
   */
  begin(request: BegunRequest, options?: HereOptions): Promise<ResumedRun>
  /**
   * Answers a request that may come again: the first with a key starts a run, and the others, with the same body and within 24 hours, are answered
   * from that run once it is stored.
   *
   * @param key of the client, as `http.idempotencyKeyOf` returns it; it counts for this adapter
   * @param body JSON that others with the key must have, too
   * @throws HostError `RESPONSE_CONFLICT` when the key came with another body
   */
  once<T>(key: string, body: unknown, answers: OnceAnswers<T>): Promise<T>
  /** Returns the latest run of a thread; undefined where there is none. */
  latest(thread: string): Promise<StoredRunInfo | undefined>
  /**
   * Stores a run of `host.start` that has ended waiting, so that an answer continues it.
   *
   * @returns what it waits for, in the order of its pending calls
   */
  keep(waiting: KeptRun): Promise<readonly OpenCall[]>
  /**
   * Answers calls of a run that waits, by the ids of its pending calls, and goes on with it in this process, once: of several callers one
   * does. What has no answer keeps waiting, in the run that goes on. A run that fails, or is aborted, before it has called anything gives
   * the answers back.
   *
   * @param by name of the one who answers
   * @throws HostError `APPROVAL_DECIDED` when the calls are answered or cancelled; `REQUEST_INVALID` for an answer that does not fit, and
   *   for none; `APPROVAL_NOT_FOUND`, `OVERLOADED`, `AGENT_NOT_FOUND`: then the calls stay open
   */
  resume(id: string, answers: readonly PendingAnswer[], by: string, options?: HereOptions): Promise<ResumedRun>
  /** Returns a run as it is now, also one that another adapter started; undefined if it does not exist. */
  find(id: string): Promise<StoredRunInfo | undefined>
  /**
   * Yields the events of a run, those that are still to come included, up to its end. Ends early when the signal aborts, or the run is
   * deleted.
   *
   * @throws HostError `RESPONSE_NOT_FOUND`
   */
  follow(id: string, options?: FollowOptions): AsyncIterable<DurableEvent>
  /**
   * Waits for the end of a run.
   *
   * @throws HostError `RESPONSE_NOT_FOUND`; `AGENT_FAILED` for a run that has not ended well
   * @throws the reason of the signal once it aborts
   */
  outcome(id: string, signal?: AbortSignal): Promise<RunOutcome>
  /**
   * Answers calls of a run that waits, by the ids of the open calls. The last answer continues it, as a new run, once: of several callers
   * one does. Results of client tools come together: the agent then asks again for every other call that has no answer. An answer whose
   * run fails before it has called anything is given back: the calls are open again. Who may decide is for the adapter to check.
   *
   * @param by name of the one who decides
   * @throws HostError `APPROVAL_DECIDED` when the calls are answered or cancelled; `REQUEST_INVALID` for an answer that does not fit,
   *   `APPROVAL_NOT_FOUND`, `OVERLOADED`, `AGENT_NOT_FOUND`: then the calls stay open
   */
  answer(answers: ReadonlyMap<string, GivenAnswer>, by: string): Promise<AnsweredRun>
  /**
   * Cancels a run on any server, and what it waits for; where an answer was quicker, the run that continues it. One that has ended stays
   * as it is. Undefined if it does not exist.
   */
  cancel(id: string): Promise<StoredRunInfo | undefined>
  /** Returns a page of the calls that wait for a person, oldest first. */
  listWaiting(range?: WaitingRange): Promise<WaitingPage>
}

/** Request to start a durable run. */
export interface DurableRequest extends Omit<WaitingOptions, 'tenant' | 'background'> {
  /** Name of the agent: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  /** Messages that the run adds to the conversation; the last one of the user is handled. */
  readonly messages: readonly Message[]
  /** Run whose conversation this one continues. */
  readonly previousId?: string | undefined
  /**
   * In the place of `previousId`: a conversation by a key of the adapter's own, such as an id of its clients. The run continues the latest one
   * under this key, or begins the conversation. One run at a time: while one is in progress, another fails with `RESPONSE_CONFLICT`.
   */
  readonly thread?: string | undefined
  /** Request of {@link TenantRuns.once} that this run answers. */
  readonly idempotency?: IdempotentRequest | undefined
  /** JSON that is stored with the run, and with those that continue it; only adapters of the same name get it. */
  readonly data?: unknown
}

/** Answers to requests with one key. */
export interface OnceAnswers<T> {
  /** Starts the run (`start`, `begin`), with this `idempotency` in its request, and answers. */
  readonly first: (idempotency: IdempotentRequest) => Promise<T>
  /** Answers from the run of the first; undefined where it is gone: the request starts another. */
  readonly again: (id: string) => Promise<T | undefined>
}

/** Request for a durable run of this process. */
export interface BegunRequest extends DurableRequest {
  /**
   * Answers to calls that the run before waits for, by the ids of its pending calls. With messages: results of client tools alone, which
   * stand before them.
   */
  readonly answers?: readonly PendingAnswer[] | undefined
  /** Name of the one who answers. Default: the name of the adapter. */
  readonly by?: string | undefined
}

/** Run of the host that waits, as it is stored. */
export interface KeptRun extends WaitingOptions, Pick<Turn, 'messages'> {
  /** Name of the agent in the request: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  readonly result: RunResult
  /** Id under which it is stored; left out, it gets one. */
  readonly id?: string
  /** As {@link DurableRequest.data}. */
  readonly data?: unknown
}

/** Part of a turn that exists in one process alone. */
export type HereOptions = Pick<Turn, 'onEvent' | 'overrides'>

/** Run of this process, under the id by which it is stored. Its result is given out once that is stored, too. */
export interface ResumedRun extends RunHandle {
  readonly agent: string
}

/** Call that a run waits for, under the id by which it is answered. */
export interface OpenCall {
  readonly id: string
  readonly call: PendingCall
}

/**
 * State of a durable run. `waiting`: it needs a person or a client, and continues as a new run. `expired`: nobody decided in time; a message
 * continues it.
 */
export type StoredRunStatus = 'queued' | 'in_progress' | 'waiting' | 'expired' | 'completed' | 'failed' | 'cancelled'

/** Durable run as it is at this moment. */
export interface StoredRunInfo {
  readonly id: string
  readonly status: StoredRunStatus
  /** Text so far, of the last attempt. */
  readonly text: string
  /** Calls that it waits for. */
  readonly open: readonly OpenCall[]
  /** Run that continues this one after its answers; null until there is one. */
  readonly continuedBy: string | null
  /** Run whose conversation this one continues. Null for one that begins, as the next two are for a run of the responses adapter. */
  readonly previousId: string | null
  readonly agent: string | null
  /** JSON that was stored with it; null where another adapter started it. */
  readonly data: unknown
  /** Unix seconds. */
  readonly createdAt: number
  /** Unix seconds; null until it has ended. */
  readonly endedAt: number | null
  readonly usage: Readonly<Usage>
  /** Limit for which the agent stopped before its answer was complete. */
  readonly incompleteReason: string | undefined
  /** Why it failed, for clients. */
  readonly error: string | undefined
  /** Code by which clients of models know why it failed. */
  readonly code: ClientCode | undefined
}

/** Answer of a run that has ended well, or waits. */
export type RunOutcome = Pick<StoredRunInfo, 'status' | 'text' | 'usage' | 'incompleteReason' | 'open' | 'continuedBy'>

/** State of a run after answers. */
export interface AnsweredRun {
  /** Run that continues; null while something else is open. */
  readonly continuedBy: string | null
  readonly open: readonly OpenCall[]
}

/** Place in the events of a run from which on they are read. */
export interface FollowOptions {
  /** Number of the last event that is known: those after it follow. Default: 0, for all. */
  readonly after?: number
  readonly signal?: AbortSignal
}

/** Part of what waits. */
export interface WaitingRange {
  /** Default: 100. */
  readonly limit?: number
  /** Id of the last one before. */
  readonly after?: string
}

/** Call that waits for a person. */
export interface WaitingApproval extends OpenCall {
  readonly runId: string
  readonly agent: string
  /** Unix seconds, as the next. */
  readonly createdAt: number
  /** Null for one that does not expire. */
  readonly expiresAt: number | null
}

/** Page of the calls that wait for a person. */
export interface WaitingPage {
  readonly waiting: readonly WaitingApproval[]
  readonly hasMore: boolean
}
