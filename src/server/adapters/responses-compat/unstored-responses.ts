import { type Conversation, messagesOf, withOutcome } from '../../../durable/conversation-tree.ts'
import type { HistoryBudget } from '../../../durable/history-budget.ts'
import type { Draft } from '../../../durable/run-row.ts'
import type { ResponseRun } from './response-run.ts'
import type { InputItem, ResponseRecord } from './schema.ts'
import { lengthOf } from './truncate.ts'

/** Responses of one connection that can be continued: the oldest are forgotten. */
const MAX_RESPONSES = 8

interface Unstored {
  readonly run: ResponseRun
  readonly draft: Draft<ResponseRecord, InputItem>
}

/** Responses with `store: false`, as long as the connection lasts that they were made on. */
export class UnstoredResponses {
  readonly #responses = new Map<string, Unstored>()

  add(run: ResponseRun, draft: Draft<ResponseRecord, InputItem>): void {
    this.#responses.set(run.id, { run, draft })
    const [oldest] = this.#responses.keys()
    if (this.#responses.size > MAX_RESPONSES && oldest !== undefined) this.forget(oldest)
  }

  /** A request that went on from it has failed: clients begin anew. */
  forget(id: string): void {
    this.#responses.delete(id)
  }

  /**
   * Returns the conversation up to a response that has ended well; undefined when there is none.
   *
   * @throws HostError `REQUEST_INVALID` when it is more than the budget has left
   */
  read(id: string, budget: HistoryBudget): Conversation | undefined {
    const { run, draft } = this.#responses.get(id) ?? {}
    if (!run?.outcome || !draft) return undefined
    const last = withOutcome(draft.turn, run.outcome)
    const messages = [...draft.earlier, ...messagesOf(last)]
    for (const message of messages) budget.addItems(1, lengthOf(message))
    return { last, turns: [last], messages }
  }
}
