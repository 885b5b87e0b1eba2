import type { Keyv } from 'keyv'
import type { KeyRange } from '../record-store.ts'

/** Keys of one page; a page is written whole when one of its keys comes or goes. */
const PAGE_SIZE = 200

/**
 * Which keys there are, for backends that can only look up one. It is kept in memory, and in pages of the backend itself,
 * from which it is read when the store is opened. A key that was added and never written does no harm.
 */
export class KeyDirectory {
  readonly #keyv: Keyv<string>
  readonly #pages: Set<string>[]
  readonly #pageOf = new Map<string, number>()
  /** Ascending. */
  #sorted: string[]

  private constructor(keyv: Keyv<string>, pages: Set<string>[]) {
    this.#keyv = keyv
    this.#pages = pages
    pages.forEach((page, index) => {
      for (const key of page) this.#pageOf.set(key, index)
    })
    this.#sorted = [...this.#pageOf.keys()].sort(byBytes)
  }

  static async open(keyv: Keyv<string>): Promise<KeyDirectory> {
    const pages: Set<string>[] = []
    for (;;) {
      const page = await keyv.get(pageKey(pages.length))
      if (page === undefined) return new KeyDirectory(keyv, pages)
      pages.push(new Set(JSON.parse(page) as string[]))
    }
  }

  has(key: string): boolean {
    return this.#pageOf.has(key)
  }

  list({ prefix, after = '', before = '\x7f', order = 'asc', limit }: KeyRange): string[] {
    const from = Math.max(this.#place(prefix), after === '' ? 0 : this.#place(`${after}\0`))
    const to = Math.min(this.#place(`${prefix}\x7f`), this.#place(before))
    if (order === 'asc') return this.#sorted.slice(from, Math.min(to, from + limit))
    return this.#sorted.slice(Math.max(from, to - limit), Math.max(from, to)).reverse()
  }

  async add(keys: readonly string[]): Promise<void> {
    const changed = new Set<number>()
    for (const key of new Set(keys)) {
      if (this.has(key)) continue
      const index = this.#openPage()
      this.#pages[index]?.add(key)
      this.#pageOf.set(key, index)
      this.#sorted.splice(this.#place(key), 0, key)
      changed.add(index)
    }
    await this.#write(changed)
  }

  async remove(keys: readonly string[]): Promise<void> {
    const changed = new Set<number>()
    for (const key of new Set(keys)) {
      const index = this.#pageOf.get(key)
      if (index === undefined) continue
      this.#pages[index]?.delete(key)
      this.#pageOf.delete(key)
      this.#sorted.splice(this.#place(key), 1)
      changed.add(index)
    }
    await this.#write(changed)
  }

  #openPage(): number {
    const last = this.#pages.length - 1
    if ((this.#pages[last]?.size ?? PAGE_SIZE) < PAGE_SIZE) return last
    return this.#pages.push(new Set()) - 1
  }

  async #write(indexes: Iterable<number>): Promise<void> {
    for (const index of indexes) await this.#keyv.set(pageKey(index), JSON.stringify([...(this.#pages[index] ?? [])]))
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

function pageKey(index: number): string {
  return `keys:${index}`
}

function byBytes(one: string, other: string): number {
  return one < other ? -1 : 1
}
