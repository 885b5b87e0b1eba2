/** Rows shorter than this are parsed for each reader. */
const MIN_LENGTH = 256 * 1024
/** An ended run changes only by a further step, which the length of its row tells. This much of its end is compared, too. */
const TAIL_LENGTH = 1024

interface Run {
  readonly id: string
  readonly steps: object
}

interface Entry<R extends Run> {
  readonly text: { readonly length: number; readonly tail: string }
  readonly steps: WeakRef<R['steps']>
  readonly run: Omit<R, 'steps'>
}

/** A run, with the length of its row where it is large. */
type Measured<R> = R & { readonly largeLength?: number }

/** Large runs that have ended, as long as their steps are in use: further readers get the same steps, and nothing is parsed again. */
export class LargeRuns<R extends Run> {
  readonly #entries = new Map<string, Entry<R>>()

  /** @param text of the row, as it was read just now */
  find(id: string, text: string): Measured<R> | undefined {
    const entry = text.length < MIN_LENGTH ? undefined : this.#entries.get(id)
    const steps = entry?.steps.deref()
    if (!entry || !steps || entry.text.length !== text.length || !text.endsWith(entry.text.tail)) return undefined
    return { ...entry.run, steps, largeLength: text.length } as Measured<R>
  }

  /** Returns a run that was parsed, marked where it is large. */
  add(parsed: R, text: string): Measured<R> {
    const { length } = text
    if (length < MIN_LENGTH) return parsed
    for (const [id, entry] of this.#entries) if (!entry.steps.deref()) this.#entries.delete(id)
    const { steps, ...run } = parsed
    this.#entries.set(parsed.id, { text: { length, tail: text.slice(-TAIL_LENGTH) }, steps: new WeakRef(steps), run })
    return { ...parsed, largeLength: length }
  }
}
