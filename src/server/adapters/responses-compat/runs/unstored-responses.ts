import {
  type LoadedConversation,
  messagesOf,
  type StoredTurn,
  withOutcome,
} from '../../../../durable/conversations/conversation-tree.ts'
import type { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import { sizeOf } from '../../../../durable/conversations/truncate.ts'
import type { DurableRun } from '../../../../durable/runs/durable-run.ts'
import type { Draft } from '../../../../durable/runs/run-row.ts'
import { HostError } from '../../../../errors.ts'
import { RecentlyUsed } from '../../../../recently-used.ts'
import type { PendingAnswer } from '../../../../run/waiting/pending-call.ts'
import { bytesOfMessages } from '../../../bodies/bytes-of-messages.ts'

/** Responses of one connection that can be continued: the oldest are forgotten. */
const MAX_RESPONSES = 8
/** Of all connections together. */
const LIMITS = { maxItems: 10_000, maxBytes: 256 * 1024 * 1024 }

interface Unstored extends Pick<Draft, 'items' | 'earlier'> {
  readonly run: Pick<DurableRun, 'id' | 'outcome'>
  readonly turn: StoredTurn
}

/** Responses with `store: false` of all connections. */
export type UnstoredMemory = RecentlyUsed<Unstored>

export function openUnstoredMemory(limits = LIMITS): UnstoredMemory {
  return new RecentlyUsed<Unstored>({ ...limits, bytesOf })
}

/** Responses with `store: false`, for as long as their connection lasts. */
export class UnstoredResponses {
  readonly #memory: UnstoredMemory
  readonly #ids = new Set<string>()
  /** Those whose calls a person has decided. */
  readonly #decided = new Set<string>()

  constructor(memory: UnstoredMemory) {
    this.#memory = memory
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
    const added = { run, turn: makeTurn(), items, earlier }
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
   * Takes decisions about the calls of a response: once, as nothing can go on with it after a failure.
   *
   * @throws HostError `APPROVAL_DECIDED`
   */
  decide(id: string, answers: readonly PendingAnswer[]): void {
    if (answers.every(({ kind }) => kind === 'client_tool')) return
    if (this.#decided.has(id)) throw new HostError('APPROVAL_DECIDED', 'The calls are already decided')
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
    const last = withOutcome(found.turn, found.run.outcome)
    const messages = [...found.earlier, ...messagesOf(last)]
    for (const message of messages) budget.addItems(1, sizeOf(message))
    return { last, turns: [last], messages }
  }
}

/** Memory that a response takes at most: earlier messages are counted although other responses may share them. */
function bytesOf({ run: { outcome }, turn, items, earlier }: Unstored): number {
  const messages = [...earlier, ...messagesOf(turn), ...(outcome?.messages ?? [])]
  return bytesOfMessages(messages) + 2 * JSON.stringify(items).length
}
