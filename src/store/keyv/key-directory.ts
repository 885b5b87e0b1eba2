import type { KeyRange } from '../record-store.ts'

/** Which keys there are, in their order, for backends that can only look up one. */
export class KeyDirectory {
  /** Ascending. */
  readonly #sorted: string[]

  constructor(keys: Iterable<string>) {
    this.#sorted = [...keys].sort(byBytes)
  }

  has(key: string): boolean {
    return this.#sorted[this.#place(key)] === key
  }

  list({ prefix, after = '', before = '\x7f', order = 'asc', limit }: KeyRange): string[] {
    const from = Math.max(this.#place(prefix), after === '' ? 0 : this.#place(`${after}\0`))
    const to = Math.min(this.#place(`${prefix}\x7f`), this.#place(before))
    if (order === 'asc') return this.#sorted.slice(from, Math.min(to, from + limit))
    return this.#sorted.slice(Math.max(from, to - limit), Math.max(from, to)).reverse()
  }

  add(key: string): void {
    if (!this.has(key)) this.#sorted.splice(this.#place(key), 0, key)
  }

  remove(key: string): void {
    if (this.has(key)) this.#sorted.splice(this.#place(key), 1)
  }

  /** Returns the number of keys before this one. */
  #place(key: string): number {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sorted[middle] as string) < key) low = middle + 1
      else high = middle
    }
    return low
  }
}

function byBytes(one: string, other: string): number {
  return one < other ? -1 : 1
}
