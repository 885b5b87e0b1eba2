import type { Before } from '../../../../durable/continuation/before.ts'
import type { ConversationRecord, ConversationStore } from '../../../../durable/conversations/conversation-store.ts'
import { makeTurn, type StoredTurn } from '../../../../durable/conversations/conversation-tree.ts'
import { HistoryBudget, type HistoryLimits } from '../../../../durable/conversations/history-budget.ts'
import { untilClaimed } from '../../../../durable/decisions/until-claimed.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import type { RunIds } from '../../../../durable/runs/run-ids.ts'
import { badRequest, HostError } from '../../../../errors.ts'
import { MAX_PAGE_LENGTH } from '../../../../json.ts'
import { nowSeconds } from '../../../../now-seconds.ts'
import type { Message } from '../../../../protocols/message.ts'
import { toToolMessage } from '../../../../run/state/trail.ts'
import { turnIdOf } from '../ids.ts'
import { addToConversation } from '../input/continue.ts'
import type { EarlierTurns } from '../input/earlier-turns.ts'
import { readInput } from '../input/read-input.ts'
import { itemsOfTurn } from '../input/read-items.ts'
import { unsealingFor } from '../input/sealed-items.ts'
import { toInputItems } from '../input/to-input-items.ts'
import type { PageQuery } from '../routes/page-query.ts'
import { toPage, unknownCursor } from '../routes/pages.ts'
import type { InputItem, Page, RawInputItem } from '../routes/schema.ts'

export interface ConversationItemsOptions {
  readonly runs: DurableRuns
  readonly earlier: EarlierTurns
  readonly ids: RunIds
  readonly limits: HistoryLimits
}

/** Items of conversations: those of the responses in them, and those that clients added. */
export class ConversationItems {
  readonly #options: ConversationItemsOptions
  readonly #earlier: EarlierTurns
  readonly #conversations: ConversationStore

  constructor(options: ConversationItemsOptions) {
    this.#options = options
    this.#earlier = options.earlier
    this.#conversations = options.runs.conversations
  }

  /** A page of the items of a conversation, those of a response in progress excepted. */
  async list(row: ConversationRecord, { limit, order, after }: PageQuery): Promise<Page<InputItem>> {
    const removed = await this.#conversations.removedItems(row.id)
    const inOrder = <T>(values: readonly T[]) => (order === 'asc' ? [...values] : values.toReversed())
    const turnIds = inOrder(await this.#conversations.turnIds(row))
    const from = after === undefined ? 0 : turnIds.indexOf(turnIdOf(after) ?? '')
    if (from === -1) throw unknownCursor('after')
    const found: InputItem[] = []
    let index = from
    for (let length = 0; found.length <= limit && length <= MAX_PAGE_LENGTH; index++) {
      const turnId = turnIds[index]
      if (turnId === undefined) break
      const items = inOrder(await itemsOfTurn(this.#options.runs, turnId))
      const rest = index === from && after !== undefined ? itemsAfter(items, after) : items
      const shown = rest.filter(({ id }) => !removed.has(id))
      for (const item of shown) found.push(item)
      length += JSON.stringify(shown).length
    }
    const page = cutLong(found.slice(0, limit))
    return toPage(page.map(toView), page.length < found.length || index < turnIds.length)
  }

  /** @throws HostError `CONVERSATION_NOT_FOUND` */
  async get(row: ConversationRecord, itemId: string): Promise<InputItem> {
    const turnId = turnIdOf(itemId)
    const isHere = turnId !== undefined && (await this.#conversations.turnIds(row)).includes(turnId)
    const item = isHere ? (await itemsOfTurn(this.#options.runs, turnId)).find(({ id }) => id === itemId) : undefined
    if (!item || (await this.#conversations.removedItems(row.id)).has(itemId)) {
      throw new HostError('CONVERSATION_NOT_FOUND', 'Item not found')
    }
    return toView(item)
  }

  /** Adds items without a run. */
  async add(id: string, rawItems: readonly RawInputItem[]): Promise<InputItem[]> {
    return untilClaimed(async () => {
      const budget = new HistoryBudget(this.#options.limits)
      const earlier = await this.#earlier.read({ conversation: id }, { budget, unstored: undefined })
      const row = earlier.named as ConversationRecord
      const turn = await this.makeTurn(rawItems, earlier.before, budget)
      const isAdded = await this.#conversations.append(row, { ...turn, conversation: id })
      return isAdded ? (turn.items as readonly InputItem[]).map(toView) : undefined
    })
  }

  /** Turn that adds items to the earlier ones. */
  async makeTurn(
    rawItems: readonly RawInputItem[],
    before?: Before,
    budget = new HistoryBudget(this.#options.limits),
  ): Promise<StoredTurn> {
    const id = this.#options.ids.next()
    const createdAt = nowSeconds()
    const items = toInputItems([...rawItems], id, createdAt)
    const reference = items.findIndex(({ type }) => type === 'item_reference')
    if (reference !== -1) throw badRequest(`items[${reference}]: references cannot be added`)
    const { messages, pending } = addToConversation(
      readInput(items, 'items', await unsealingFor(items, this.#options.runs)),
      before,
    )
    budget.addTurn(items.length, JSON.stringify(items).length)
    return { ...makeTurn(id, createdAt, messages, before?.conversation.last, pending), items }
  }

  /**
   * Removes an item from a conversation.
   *
   * @throws HostError `CONVERSATION_NOT_FOUND`
   */
  async remove(row: ConversationRecord, itemId: string): Promise<void> {
    await this.get(row, itemId)
    const turnId = turnIdOf(itemId) ?? ''
    await this.#conversations.removeItem(row.id, itemId, turnId, (removed) => this.#readRest(turnId, removed))
  }

  /** Messages that are left of a turn. */
  async #readRest(turnId: string, removed: ReadonlySet<string>): Promise<readonly Message[]> {
    const { runs } = this.#options
    const rest = (await itemsOfTurn(runs, turnId)).filter(({ id }) => !removed.has(id))
    const { messages, outputs } = readInput(rest, 'items', await unsealingFor(rest, runs))
    return [...outputs.map(({ callId, result }) => toToolMessage(callId, result)), ...messages]
  }
}

function itemsAfter(items: readonly InputItem[], cursor: string): readonly InputItem[] {
  const index = items.findIndex(({ id }) => id === cursor)
  if (index === -1) throw unknownCursor('after')
  return items.slice(index + 1)
}

/** Ends a page early if it gets too long; the rest follows on the next page. */
function cutLong(items: readonly InputItem[]): readonly InputItem[] {
  let length = 0
  const first = items.findIndex((item) => {
    length += JSON.stringify(item).length
    return length > MAX_PAGE_LENGTH
  })
  return first === -1 ? items : items.slice(0, Math.max(first, 1))
}

/** Clients expect a status of every item. */
function toView(item: InputItem): InputItem {
  return { ...{ status: 'completed' }, ...item }
}
