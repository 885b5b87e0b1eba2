import type { StoredRun } from './run-store.ts'

/** Rows shorter than this are parsed for each reader. */
const MIN_LENGTH = 256 * 1024
/** An ended run changes only by a further step at the end of its row. */
const TAIL_LENGTH = 1024

type Large = Required<StoredRun>

interface Entry {
  readonly text: { readonly length: number; readonly tail: string }
  readonly steps: WeakRef<StoredRun['steps']>
  readonly run: Omit<Large, 'steps'>
}

/** Large runs that have ended, as long as their steps are in use: further readers get the same steps, and nothing is parsed again. */
export class LargeRuns {
  readonly #entries = new Map<string, Entry>()

  /** @param text of the row, as it was read just now */
  find(id: string, text: string): StoredRun | undefined {
    const entry = text.length < MIN_LENGTH ? undefined : this.#entries.get(id)
    const steps = entry?.steps.deref()
    if (!entry || !steps || entry.text.length !== text.length || !text.endsWith(entry.text.tail)) return undefined
    return { ...entry.run, steps }
  }

  /** Returns a run that was parsed, marked where it is large. */
  add({ steps, ...run }: StoredRun, text: string): StoredRun {
    const { length } = text
    if (length < MIN_LENGTH) return { ...run, steps }
    for (const [id, entry] of this.#entries) if (!entry.steps.deref()) this.#entries.delete(id)
    const large = { ...run, largeLength: length }
    this.#entries.set(run.id, {
      text: { length, tail: text.slice(-TAIL_LENGTH) },
      steps: new WeakRef(steps),
      run: large,
    })
    return { ...large, steps }
  }
}
