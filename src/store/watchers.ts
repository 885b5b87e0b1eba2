/** Callbacks by topic. */
export class Watchers {
  readonly #byTopic = new Map<string, Set<() => void>>()

  get size(): number {
    return this.#byTopic.size
  }

  /** @returns a function that takes it away again */
  add(topics: readonly string[], onNotice: () => void): () => void {
    for (const topic of topics) this.#byTopic.set(topic, (this.#byTopic.get(topic) ?? new Set()).add(onNotice))
    return () => {
      for (const topic of topics) this.#remove(topic, onNotice)
    }
  }

  notify(topics: Iterable<string>): void {
    const callbacks = new Set<() => void>()
    for (const topic of topics) for (const callback of this.#byTopic.get(topic) ?? []) callbacks.add(callback)
    for (const callback of callbacks) callback()
  }

  notifyAll(): void {
    this.notify([...this.#byTopic.keys()])
  }

  #remove(topic: string, onNotice: () => void): void {
    const callbacks = this.#byTopic.get(topic)
    callbacks?.delete(onNotice)
    if (callbacks?.size === 0) this.#byTopic.delete(topic)
  }
}
