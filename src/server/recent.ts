/** Values by id, in memory: when there are too many, or they are too large together, the least recently used are forgotten. */
export class Recent<T> {
  readonly #limits: { readonly maxItems: number; readonly maxBytes: number }
  readonly #bytesOf: (value: T) => number
  /** In the order of their use: that in which the keys were added. */
  readonly #values = new Map<string, { readonly value: T; readonly bytes: number }>()
  #bytes = 0

  constructor(limits: { readonly maxItems: number; readonly maxBytes: number }, bytesOf: (value: T) => number) {
    this.#limits = limits
    this.#bytesOf = bytesOf
  }

  get(id: string): T | undefined {
    const found = this.#values.get(id)
    if (!found) return undefined
    this.#values.delete(id)
    this.#values.set(id, found)
    return found.value
  }

  /** The least recently used first. */
  *[Symbol.iterator](): Generator<[id: string, value: T]> {
    for (const [id, { value }] of this.#values) yield [id, value]
  }

  set(id: string, value: T): void {
    this.delete(id)
    const bytes = this.#bytesOf(value)
    this.#values.set(id, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.#limits.maxItems && this.#bytes <= this.#limits.maxBytes) return
      this.delete(oldest)
    }
  }

  delete(id: string): void {
    this.#bytes -= this.#values.get(id)?.bytes ?? 0
    this.#values.delete(id)
  }
}
