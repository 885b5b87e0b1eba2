import { HostError } from '../errors.ts'

/** Limits of the history that one request may bring to its agent. */
export interface HistoryLimits {
  readonly maxHistoryItems: number
  readonly maxHistoryMb: number
  readonly maxHistoryTurns: number
}

/** Counts what a request brings along, and refuses it as soon as it is too much: before the rest is read. */
export class HistoryBudget {
  readonly #limits: HistoryLimits
  #items = 0
  #bytes = 0
  #turns = 0

  constructor(limits: HistoryLimits) {
    this.#limits = limits
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
    if (this.#bytes > maxHistoryMb * 1024 * 1024) throw tooMuch(`${maxHistoryMb} MiB`, 'max-history-mb')
  }
}

function tooMuch(limit: string, flag: string): HostError {
  return new HostError('REQUEST_INVALID', `The conversation has more than ${limit}, the limit of --${flag}`)
}
