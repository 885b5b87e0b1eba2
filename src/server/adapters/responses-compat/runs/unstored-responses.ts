import type { StoredApproval } from '../../../../durable/approvals/stored-approval.ts'
import {
  type LoadedConversation,
  messagesOf,
  type StoredTurn,
  withOutcome,
} from '../../../../durable/conversations/conversation-tree.ts'
import type { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import { sizeOf } from '../../../../durable/conversations/truncate.ts'
import { hasExpired, isLate } from '../../../../durable/decisions/resumption.ts'
import type { DurableRun } from '../../../../durable/runs/durable-run.ts'
import type { Draft } from '../../../../durable/runs/run-row.ts'
import { HostError } from '../../../../errors.ts'
import { RecentlyUsed } from '../../../../recently-used.ts'
import type { PendingAnswer } from '../../../../run/waiting/pending-call.ts'
import { kindOf } from '../../../../store/tenant-records.ts'
import { heapShare } from '../../../bodies/byte-budget.ts'
import { bytesOfMessages } from '../../../bodies/bytes-of-messages.ts'

/** Responses of one connection that can be continued: the oldest are forgotten. */
const MAX_RESPONSES = 8
/** Of all connections together. */
const LIMITS = { maxItems: 10_000, maxBytes: Math.min(256 * 1024 * 1024, heapShare(1 / 4)) }

interface Unstored extends Pick<Draft, 'items' | 'earlier'> {
  readonly run: Pick<DurableRun, 'id' | 'outcome'>
  readonly turn: StoredTurn
  readonly tenant: string
  /** Users that the turn, or one before it, names. */
  readonly users: readonly string[]
}

/** Responses with `store: false` of all connections. */
export type UnstoredMemory = RecentlyUsed<Unstored>

export function openUnstoredMemory(limits = LIMITS): UnstoredMemory {
  return new RecentlyUsed<Unstored>({ ...limits, bytesOf })
}

/**
 * Removes the responses of a user of a tenant, and all that continue them: these hold the earlier messages too.
 *
 * @returns their number
 */
export function forgetUnstored(memory: UnstoredMemory, tenant: string, user: string): number {
  const theirs = [...memory].filter(([, kept]) => kept.tenant === tenant && kept.users.includes(user))
  for (const [id] of theirs) memory.delete(id)
  return theirs.length
}

/** Responses with `store: false`, for as long as their connection lasts. */
export class UnstoredResponses {
  readonly #memory: UnstoredMemory
  readonly #tenant: string
  readonly #ids = new Set<string>()
  /** Those whose calls a person has decided. */
  readonly #decided = new Set<string>()
  /** Response that was read last, and its users: requests of a connection are answered one after another. */
  #read: { readonly id: string; readonly users: readonly string[] } | undefined

  constructor(memory: UnstoredMemory, tenant = '') {
    this.#memory = memory
    this.#tenant = tenant
  }

  add(run: DurableRun, draft: Draft): void {
    const added = this.addEnded(run, draft)
    // Again with its text so far.
    run.settled.then(
      () => this.#memory.get(run.id) && this.#memory.set(run.id, added),
      () => {},
    )
  }

  /** Adds a response that has ended. */
  addEnded(run: Unstored['run'], { items, earlier, makeTurn }: Draft): Unstored {
    const turn = makeTurn()
    const before = turn.previous_response_id === this.#read?.id ? this.#read?.users : undefined
    const users = [...new Set([...(before ?? []), ...usersOf([turn])])]
    const added = { run, turn, items, earlier, tenant: this.#tenant, users }
    this.#ids.add(run.id)
    this.#memory.set(run.id, added)
    const [oldest] = this.#ids
    if (this.#ids.size > MAX_RESPONSES && oldest !== undefined) this.forget(oldest)
    return added
  }

  /** A request that went on from it has failed: clients start again. */
  forget(id: string): void {
    if (this.#ids.delete(id)) this.#memory.delete(id)
    this.#decided.delete(id)
  }

  /**
   * Takes decisions about the calls of a response: once, as nothing can go on with it after a failure, and in time.
   *
   * @throws HostError `APPROVAL_DECIDED`
   */
  decide(id: string, answers: readonly PendingAnswer[]): void {
    const decided = answers.flatMap(({ kind, callId }) => (kind === 'client_tool' ? [] : [callId]))
    if (decided.length === 0) return
    if (this.#decided.has(id)) throw new HostError('APPROVAL_DECIDED', 'The calls are already decided')
    const late = approvalsOf(this.#memory.get(id)).filter(isLate)
    if (late.some(({ pending }) => decided.includes(pending.callId))) throw hasExpired()
    this.#decided.add(id)
  }

  /** The connection is closed. */
  clear(): void {
    for (const id of this.#ids) this.forget(id)
  }

  /**
   * Returns the conversation up to a successful response; undefined if there is none.
   *
   * @throws HostError `REQUEST_INVALID` when it is more than the budget has left
   */
  read(id: string, budget: HistoryBudget): LoadedConversation | undefined {
    const found = this.#ids.has(id) ? this.#memory.get(id) : undefined
    if (!found?.run.outcome) return undefined
    this.#read = { id, users: found.users }
    const last = withOutcome(found.turn, found.run.outcome)
    const messages = [...found.earlier, ...messagesOf(last)]
    for (const message of messages) budget.addItems(1, sizeOf(message))
    return { last, turns: [last], messages }
  }

  /** Notes whose words a stored conversation has that the next response may continue. */
  noteStored({ last, turns }: LoadedConversation): void {
    this.#read = { id: last.response_id, users: usersOf(turns) }
  }
}

/** Approvals of the calls that a response waits for, as they would be stored. */
function approvalsOf(kept: Unstored | undefined): StoredApproval[] {
  const opened = kept?.run.outcome?.waiting ?? []
  return opened.flatMap(([key, text]) => (text !== undefined && kindOf(key) === 'approval' ? [JSON.parse(text)] : []))
}

function usersOf(turns: readonly StoredTurn[]): string[] {
  return turns.flatMap(({ user }) => (user === undefined ? [] : [user]))
}

/** Memory that a response takes at most: earlier messages are counted although other responses may share them. */
function bytesOf({ run: { outcome }, turn, items, earlier, users }: Unstored): number {
  const messages = [...earlier, ...messagesOf(turn), ...(outcome?.messages ?? [])]
  return bytesOfMessages(messages) + 2 * JSON.stringify([items, users]).length
}
