import { deferred } from '../async.ts'
import type { RunStore, StoredRun } from './run-store.ts'
import { isEnd, type Step } from './steps.ts'

/** Steps of a run, to be read as they come. */
export interface StepLog<Facts> {
  readonly id: string
  readonly facts: Facts
  /** Returns the steps from an index on, at least one; waits for it. None when the log is gone. */
  read(from: number): Promise<readonly Step[]>
}

/** Polling interval of the store: a notice may be lost. */
const POLL_MS = 2000

/**
 * Returns the steps of a run that may begin in this process, or run elsewhere, while it is read.
 *
 * @param findHere returns the run while it runs in this process
 */
export function followRun<Facts>(
  { id, facts }: Pick<StepLog<Facts>, 'id' | 'facts'>,
  findHere: () => StepLog<Facts> | undefined,
  readElsewhere: () => StepLog<Facts>,
): StepLog<Facts> {
  let [here, elsewhere]: (StepLog<Facts> | undefined)[] = []
  return {
    id,
    facts,
    async read(from) {
      here ??= findHere()
      const steps = (await here?.read(from)) ?? []
      if (steps.length > 0) return steps
      here = undefined
      elsewhere ??= readElsewhere()
      return elsewhere.read(from)
    },
  }
}

/** Returns the steps of a run that does not run in this process: it has ended, or another server runs it. */
export function readRun<Facts, Item>(
  store: RunStore<Facts, Item>,
  stored: StoredRun<Facts, Item>,
  signal: AbortSignal,
): StepLog<Facts> {
  const { id, facts } = stored
  const hasEnded = (steps: readonly Step[]) => isEnd(steps.at(-1))
  if (hasEnded(stored.steps)) return { id, facts, read: async (from) => stored.steps.slice(from) }
  let known: Step[] = [...stored.steps]
  let { batches } = stored
  const notices = new Notices((onNotice) => store.watchSteps(id, onNotice), signal)
  /** @returns false when there is nothing left of it */
  const readOn = async (): Promise<boolean> => {
    const added = await store.readSteps(id, batches)
    known.push(...added.steps)
    batches += added.batches
    if (added.batches > 0) return true
    const now = await store.get(id)
    if (now && hasEnded(now.steps)) known = [...now.steps]
    return now !== undefined
  }
  return {
    id,
    facts,
    async read(from) {
      while (known.length <= from && !hasEnded(known) && !signal.aborted) {
        const next = notices.next()
        if (!(await readOn())) return []
        if (known.length <= from && !hasEnded(known)) await next
      }
      if (hasEnded(known)) notices.close()
      return known.slice(from)
    },
  }
}

/** Notices of a store, one at a time. */
class Notices {
  readonly #end: () => void
  #waiting = deferred()

  constructor(watch: (onNotice: () => void) => () => void, signal: AbortSignal) {
    this.#end = watch(() => this.#wake())
    signal.addEventListener('abort', () => this.close(), { once: true })
    if (signal.aborted) this.close()
  }

  /** Resolves with the first notice after the call, when they end, or after a while without one. */
  next(): Promise<void> {
    const { promise } = this.#waiting
    const timer = setTimeout(() => this.#wake(), POLL_MS)
    return promise.finally(() => clearTimeout(timer))
  }

  close(): void {
    this.#end()
    this.#wake()
  }

  #wake(): void {
    const { resolve } = this.#waiting
    this.#waiting = deferred()
    resolve()
  }
}
