import type { HistoryBudget } from '../../../../durable/conversations/history-budget.ts'
import type { DurableRuns } from '../../../../durable/durable-runs.ts'
import { badRequest } from '../../../../errors.ts'
import { fieldsOf } from '../../../../json.ts'
import { findItem } from '../ids.ts'
import type { InputItem } from '../routes/schema.ts'
import { readItems, type TurnItems } from './read-items.ts'

/** Maximum number of responses that the references of one request lead to: each is read whole. */
const MAX_RESPONSES = 100

const REFERENCE_TYPES: ReadonlySet<string> = new Set(['item_reference', 'image_generation_call'])

/** Item that stands for a stored one. */
export function isReference(item: InputItem): item is InputItem & { readonly reference: string } {
  return REFERENCE_TYPES.has(item.type) && typeof fieldsOf(item).reference === 'string'
}

/** The stored items that one request refers to: each response is read once, however often it is named. */
export class ItemReferences {
  readonly #runs: DurableRuns
  readonly #budget: HistoryBudget
  readonly #responses = new Map<string, Promise<TurnItems | undefined>>()
  /** Of items that were named before, in characters of JSON. */
  readonly #lengths = new Map<string, number>()

  constructor(runs: DurableRuns, budget: HistoryBudget) {
    this.#runs = runs
    this.#budget = budget
  }

  /**
   * Returns the item with an id; undefined if it is unknown.
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

  /** Clients name items that are stored here instead of sending them again. What is not found is left out. */
  async resolve(items: readonly InputItem[]): Promise<InputItem[]> {
    const resolved: InputItem[] = []
    for (const item of items) {
      const found = isReference(item) ? await this.find(item.reference) : item
      if (found) resolved.push(found)
    }
    return resolved
  }

  #lengthOf(itemId: string, item: InputItem): number {
    const length = this.#lengths.get(itemId) ?? JSON.stringify(item).length
    this.#lengths.set(itemId, length)
    return length
  }

  #read(responseId: string): Promise<TurnItems | undefined> {
    const known = this.#responses.get(responseId)
    if (known) return known
    if (this.#responses.size >= MAX_RESPONSES) {
      throw badRequest(`input refers to items of more than ${MAX_RESPONSES} responses`)
    }
    const reading = readItems(this.#runs, responseId)
    this.#responses.set(responseId, reading)
    return reading
  }
}
