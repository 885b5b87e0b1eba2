import type { HistoryBudget } from '../../../durable/history-budget.ts'
import type { RunStore } from '../../../durable/run-store.ts'
import { HostError } from '../../../errors.ts'
import { findItem } from './ids.ts'
import { recordAfter } from './output.ts'
import type { InputItem, ResponseRecord } from './schema.ts'

/** Maximum number of responses that the references of one request lead to: each is read whole. */
const MAX_RESPONSES = 100

/** The stored items that one request refers to: each response is read once, however often it is named. */
export class ItemReferences {
  readonly #store: RunStore<ResponseRecord, InputItem>
  readonly #budget: HistoryBudget
  readonly #responses = new Map<string, Promise<StoredItems | undefined>>()
  /** Of items that were named before, in characters of JSON. */
  readonly #lengths = new Map<string, number>()

  constructor(store: RunStore<ResponseRecord, InputItem>, budget: HistoryBudget) {
    this.#store = store
    this.#budget = budget
  }

  /**
   * Returns the item of an id; undefined when there is none.
   *
   * @throws HostError `REQUEST_INVALID` when it is more than the budget has left
   */
  async find(itemId: string): Promise<InputItem | undefined> {
    const place = findItem(itemId)
    const response = place && (await this.#read(place.responseId))
    const item = response?.[place?.list ?? 'input'][place?.index ?? 0]
    if (item) this.#budget.addItems(0, this.#lengthOf(itemId, item))
    return item
  }

  #lengthOf(itemId: string, item: InputItem): number {
    const length = this.#lengths.get(itemId) ?? JSON.stringify(item).length
    this.#lengths.set(itemId, length)
    return length
  }

  #read(responseId: string): Promise<StoredItems | undefined> {
    const known = this.#responses.get(responseId)
    if (known) return known
    if (this.#responses.size >= MAX_RESPONSES) {
      throw new HostError('REQUEST_INVALID', `input refers to items of more than ${MAX_RESPONSES} responses`)
    }
    const reading = this.#readItems(responseId)
    this.#responses.set(responseId, reading)
    return reading
  }

  async #readItems(responseId: string): Promise<StoredItems | undefined> {
    const stored = await this.#store.get(responseId)
    if (!stored) return undefined
    const { output, created_at } = recordAfter(stored.facts, stored.steps)
    return {
      input: await this.#store.items(stored, 0, stored.inputs),
      output: output.map((item) => ({ ...item, created_at })),
    }
  }
}

interface StoredItems {
  readonly input: readonly InputItem[]
  readonly output: readonly InputItem[]
}
