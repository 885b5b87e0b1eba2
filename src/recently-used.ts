/** Options of {@link RecentlyUsed}. */
export interface RecentlyUsedOptions<T> {
  readonly maxItems: number
  /** Of all items together. Default: no limit. */
  readonly maxBytes?: number
  /** Size of an item, where there is `maxBytes`. */
  readonly bytesOf?: (item: T) => number
  /** Time without use after which an item is forgotten. Default: no limit. */
  readonly maxIdleMs?: number
  /** Called with each item that is no longer there. */
  readonly onForget?: (item: T) => void
  /** A clock in ms that never jumps. */
  readonly now?: () => number
}

/** Interval at which idle items are looked for. */
const LOOK_EVERY_MS = 60_000

/** Items by key, in memory. Those unused for a while are forgotten, and the least recently used when there are too many. */
export class RecentlyUsed<T> {
  readonly #options: Required<RecentlyUsedOptions<T>>
  /** In the order of their use. */
  readonly #items = new Map<string, { readonly item: T; readonly bytes: number; readonly usedMs: number }>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: RecentlyUsedOptions<T>) {
    this.#options = {
      maxBytes: Infinity,
      bytesOf: () => 0,
      maxIdleMs: Infinity,
      onForget: () => {},
      now: () => performance.now(),
      ...options,
    }
  }

  get(key: string): T | undefined {
    this.#forgetIdle()
    const found = this.#items.get(key)
    if (!found) return undefined
    this.#items.delete(key)
    this.#items.set(key, { ...found, usedMs: this.#options.now() })
    return found.item
  }

  set(key: string, item: T): void {
    this.#forgetIdle()
    this.delete(key)
    const { bytesOf, maxItems, maxBytes, maxIdleMs, now } = this.#options
    const bytes = bytesOf(item)
    this.#items.set(key, { item, bytes, usedMs: now() })
    this.#bytes += bytes
    for (const oldest of this.#items.keys()) {
      if (this.#items.size <= maxItems && this.#bytes <= maxBytes) break
      this.delete(oldest)
    }
    if (maxIdleMs < Infinity) {
      this.#timer ??= setInterval(() => this.#forgetIdle(), LOOK_EVERY_MS).unref()
    }
  }

  delete(key: string): void {
    const found = this.#items.get(key)
    if (!found) return
    this.#items.delete(key)
    this.#bytes -= found.bytes
    this.#options.onForget(found.item)
    if (this.#items.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** The least recently used first. */
  *[Symbol.iterator](): Generator<[key: string, item: T]> {
    for (const [key, { item }] of this.#items) yield [key, item]
  }

  #forgetIdle(): void {
    const lastMs = this.#options.now() - this.#options.maxIdleMs
    for (const [key, { usedMs }] of this.#items) {
      if (usedMs > lastMs) return
      this.delete(key)
    }
  }
}
