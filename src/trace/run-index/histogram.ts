/** Number of steps per doubling: values are read back within 2 % of those recorded. */
const STEPS = 16
/** In milliseconds; shorter durations count as this. */
const SHORTEST = 0.001

/** Durations, counted by size: small enough to be kept with every run, and many can be added up. */
export class Histogram {
  readonly #counts: Map<number, number>

  /** @param counts as {@link Histogram.toJSON} gave them */
  constructor(counts: Readonly<Record<string, number>> = {}) {
    this.#counts = new Map(Object.entries(counts).map(([step, count]) => [Number(step), count]))
  }

  add(durationMs: number): void {
    const step = Math.round(Math.log2(Math.max(durationMs, SHORTEST)) * STEPS)
    this.#counts.set(step, (this.#counts.get(step) ?? 0) + 1)
  }

  addAll(other: Readonly<Record<string, number>>): void {
    for (const step in other) {
      const place = Number(step)
      this.#counts.set(place, (this.#counts.get(place) ?? 0) + (other[step] ?? 0))
    }
  }

  /**
   * @param share 0.5 for the median
   * @returns milliseconds; null when nothing was added
   */
  quantile(share: number): number | null {
    const steps = [...this.#counts].sort(([a], [b]) => a - b)
    const total = steps.reduce((sum, [, count]) => sum + count, 0)
    let rest = Math.max(1, Math.ceil(total * share))
    for (const [step, count] of steps) {
      rest -= count
      if (rest <= 0) return 2 ** (step / STEPS)
    }
    return null
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }
}
