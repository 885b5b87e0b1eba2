import { badRequest, type HostError } from '../../errors.ts'

/** Limits of the history that one request may bring to its agent. */
export interface HistoryLimits {
  readonly maxHistoryItems: number
  readonly maxHistoryMb: number
  readonly maxHistoryTurns: number
}

const MIB = 1024 * 1024

/** Counts the history of a request, and rejects it as soon as it exceeds the limit, before the rest is read. */
export class HistoryBudget {
  readonly #limits: HistoryLimits
  #items = 0
  #bytes = 0
  #turns = 0

  constructor(limits: HistoryLimits) {
    this.#limits = limits
  }

  /**
   * Counts a turn where there is room for it, as the next does items.
   *
   * @returns false where it would be too much: nothing is counted then
   */
  takeTurn(items: number, bytes: number): boolean {
    const isWithin = this.#turns < this.#limits.maxHistoryTurns && this.takeItems(items, bytes)
    if (isWithin) this.#turns++
    return isWithin
  }

  takeItems(items: number, bytes: number): boolean {
    const { maxHistoryItems, maxHistoryMb } = this.#limits
    const isWithin = this.#items + items <= maxHistoryItems && this.#bytes + bytes <= maxHistoryMb * MIB
    if (isWithin) this.addItems(items, bytes)
    return isWithin
  }

  /** @throws HostError `REQUEST_INVALID` that names the limit, as the next does */
  addTurn(items: number, bytes: number): void {
    this.#turns++
    this.addItems(items, bytes)
  }

  addItems(items: number, bytes: number): void {
    const { maxHistoryItems, maxHistoryMb, maxHistoryTurns } = this.#limits
    this.#items += items
    this.#bytes += bytes
    if (this.#turns > maxHistoryTurns) throw tooMuch(`${maxHistoryTurns} turns`, 'max-history-turns')
    if (this.#items > maxHistoryItems) throw tooMuch(`${maxHistoryItems} messages`, 'max-history-items')
    if (this.#bytes > maxHistoryMb * MIB) throw tooMuch(`${maxHistoryMb} MiB`, 'max-history-mb')
  }
}

function tooMuch(limit: string, flag: string): HostError {
  return badRequest(`The conversation has more than ${limit}, the limit of --${flag}`)
}
