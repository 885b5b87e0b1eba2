import { type Before, loadBefore } from '../../../../durable/continuation/before.ts'
import type { ConversationRecord } from '../../../../durable/conversations/conversation-store.ts'
import type { LoadOptions } from '../../../../durable/conversations/conversation-tree.ts'
import type { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { HostError } from '../../../../errors.ts'
import type { CreateRequest } from '../routes/schema.ts'
import type { UnstoredResponses } from '../runs/unstored-responses.ts'

/** Turns that a request continues. */
export interface Earlier {
  readonly before?: Before | undefined
  /** Conversation that the response is added to. */
  readonly named?: ConversationRecord
}

export interface EarlierOptions {
  readonly budget: HistoryBudget
  readonly unstored: UnstoredResponses | undefined
}

const NOTHING: Earlier = Object.freeze({})

type Request = Pick<CreateRequest, 'conversation' | 'previous_response_id' | 'truncation'>

/** Tells whether a request continues a response or a conversation. */
export function namesEarlier({ conversation, previous_response_id: previous }: Request): boolean {
  return typeof previous === 'string' || (conversation ?? null) !== null
}

/** Reads the response or conversation that a request continues. */
export class EarlierTurns {
  readonly #runs: DurableRuns
  readonly #ids: RunIds

  constructor(runs: DurableRuns, ids: RunIds) {
    this.#runs = runs
    this.#ids = ids
  }

  /** @throws HostError if it is unknown, in progress, or exceeds the remaining budget */
  read(request: Request, { budget, unstored }: EarlierOptions): Earlier | Promise<Earlier> {
    const { conversation, previous_response_id: previous, truncation } = request
    const limits = { budget, isTruncated: truncation === 'auto' }
    if (conversation) return this.#readConversation(conversationIdOf(conversation), limits)
    return typeof previous === 'string' ? this.#readResponse(previous, limits, unstored) : NOTHING
  }

  async #readConversation(id: string, limits: LoadOptions): Promise<Earlier> {
    const named = await this.#runs.conversations.get(id)
    const { head } = named
    return { named, before: head === null ? undefined : await loadBefore(this.#runs, head, { ...limits, named }) }
  }

  async #readResponse(
    previous: string,
    limits: LoadOptions & Pick<EarlierOptions, 'budget'>,
    unstored: UnstoredResponses | undefined,
  ): Promise<Earlier> {
    const known = unstored?.read(previous, limits.budget)
    if (known) return { before: { conversation: known, approvals: [] } }
    const before = this.#ids.isId(previous) ? await loadBefore(this.#runs, previous, limits) : undefined
    if (before) {
      unstored?.noteStored(before.conversation)
      return { before }
    }
    throw new HostError('RESPONSE_NOT_FOUND', 'Response not found', { field: 'previous_response_id' })
  }
}

function conversationIdOf(conversation: NonNullable<CreateRequest['conversation']>): string {
  return typeof conversation === 'string' ? conversation : conversation.id
}
