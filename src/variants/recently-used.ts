export interface RecentlyUsedLimits {
  readonly maxItems: number
  readonly maxIdleMs: number
}

/** Limits of what belongs to variants of agents. */
export const VARIANT_LIMITS: RecentlyUsedLimits = { maxItems: 200, maxIdleMs: 60 * 60 * 1000 }

/** Interval at which idle items are looked for. */
const LOOK_EVERY_MS = 60_000

/** Items by key. Those unused for a while are forgotten, and the least recently used when there are too many. */
export class RecentlyUsed<T> {
  readonly #limits: RecentlyUsedLimits
  readonly #onForget: (item: T) => void
  readonly #now: () => number
  /** In the order of their use. */
  readonly #items = new Map<string, { readonly item: T; readonly usedMs: number }>()
  #timer: NodeJS.Timeout | undefined

  /**
   * @param onForget called with each item that is no longer there
   * @param now a clock in ms that never jumps
   */
  constructor(limits: RecentlyUsedLimits, onForget: (item: T) => void = () => {}, now = () => performance.now()) {
    this.#limits = limits
    this.#onForget = onForget
    this.#now = now
  }

  get(key: string): T | undefined {
    this.#forgetIdle()
    const found = this.#items.get(key)
    if (found) this.#use(key, found.item)
    return found?.item
  }

  /** Adds an item. The key must be new. */
  add(key: string, item: T): void {
    this.#forgetIdle()
    const [oldest] = this.#items.keys()
    if (oldest !== undefined && this.#items.size >= this.#limits.maxItems) this.delete(oldest)
    this.#use(key, item)
    this.#timer ??= setInterval(() => this.#forgetIdle(), LOOK_EVERY_MS).unref()
  }

  delete(key: string): void {
    const found = this.#items.get(key)
    if (!found) return
    this.#items.delete(key)
    this.#onForget(found.item)
    if (this.#items.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  keys(): string[] {
    return [...this.#items.keys()]
  }

  #use(key: string, item: T): void {
    this.#items.delete(key)
    this.#items.set(key, { item, usedMs: this.#now() })
  }

  #forgetIdle(): void {
    const lastMs = this.#now() - this.#limits.maxIdleMs
    for (const [key, { usedMs }] of this.#items) {
      if (usedMs > lastMs) return
      this.delete(key)
    }
  }
}
