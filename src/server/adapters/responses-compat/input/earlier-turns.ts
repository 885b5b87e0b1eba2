import type { ConversationRecord } from '../../../../durable/conversations/conversation-store.ts'
import type { LoadedConversation, LoadOptions } from '../../../../durable/conversations/conversation-tree.ts'
import type { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { isEnd } from '../../../../durable/runs/steps.ts'
import { HostError } from '../../../../errors.ts'
import type { CreateRequest } from '../routes/schema.ts'
import type { ConversationItems } from '../runs/conversation-items.ts'
import type { ResponseRuns } from '../runs/response-runs.ts'
import type { UnstoredResponses } from '../runs/unstored-responses.ts'
import { conversationIdOf } from './begin-record.ts'

/** Turns that a request continues. */
export interface Earlier {
  readonly conversation: LoadedConversation | undefined
  /** LoadedConversation that the response is added to. */
  readonly named?: ConversationRecord
  /** True for turns that exist only on the client's connection. */
  readonly isUnstored?: boolean
}

export interface EarlierOptions {
  readonly budget: HistoryBudget
  readonly unstored: UnstoredResponses | undefined
}

interface Limits extends LoadOptions {
  readonly budget: HistoryBudget
}

const NOTHING: Earlier = Object.freeze({ conversation: undefined })

type Request = Pick<CreateRequest, 'conversation' | 'previous_response_id' | 'truncation'>

/** Reads the response or conversation that a request continues. */
export class EarlierTurns {
  readonly #runs: ResponseRuns
  readonly #ids: RunIds
  readonly #items: ConversationItems

  constructor(runs: ResponseRuns, ids: RunIds, items: ConversationItems) {
    this.#runs = runs
    this.#ids = ids
    this.#items = items
  }

  /** @throws HostError if it is unknown, in progress, or exceeds the remaining budget */
  read(request: Request, { budget, unstored }: EarlierOptions): Earlier | Promise<Earlier> {
    const { conversation, previous_response_id: previous, truncation } = request
    const limits = { budget, isTruncated: truncation === 'auto' }
    if (conversation) return this.#readConversation(conversationIdOf(conversation), limits)
    return typeof previous === 'string' ? this.#readResponse(previous, limits, unstored) : NOTHING
  }

  async #readConversation(id: string, limits: Limits): Promise<Earlier> {
    const named = await this.#runs.conversations.get(id)
    return { named, conversation: await this.#items.load(named, limits) }
  }

  async #readResponse(previous: string, limits: Limits, unstored: UnstoredResponses | undefined): Promise<Earlier> {
    const known = unstored?.read(previous, limits.budget)
    if (known) return { conversation: known, isUnstored: true }
    const steps = this.#ids.isId(previous) ? (await this.#runs.store.get(previous))?.steps : undefined
    if (steps && !isEnd(steps.at(-1))) throw new HostError('RESPONSE_CONFLICT', 'Response is still in progress')
    const stored = steps && (await this.#runs.store.conversation(previous, limits))
    if (stored) return { conversation: stored }
    throw new HostError('RESPONSE_NOT_FOUND', 'Response not found', { field: 'previous_response_id' })
  }
}
