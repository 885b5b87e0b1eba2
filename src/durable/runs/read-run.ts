import type { RunFacts } from './run-facts.ts'
import type { StoredRun } from './run-store.ts'
import { isEnd, type Step } from './steps.ts'

/** Steps of a run, to be read as they come. */
export interface StepLog {
  readonly id: string
  readonly facts: RunFacts
  /** Returns the steps from an index on, at least one; waits for it. None when the log is gone. */
  read(from: number): Promise<readonly Step[]>
}

/**
 * Returns the steps of a run that may begin in this process, or run elsewhere, while it is read.
 *
 * @param findHere returns the run while it runs in this process
 */
export function followRun(
  { id, facts }: Pick<StepLog, 'id' | 'facts'>,
  findHere: () => StepLog | undefined,
  readElsewhere: () => StepLog,
): StepLog {
  let [here, elsewhere]: (StepLog | undefined)[] = []
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

/** Returns the steps of a run that has ended; undefined for another. */
export function readEnded({ id, facts, steps }: StoredRun): StepLog | undefined {
  return isEnd(steps.at(-1)) ? { id, facts, read: async (from) => (from === 0 ? steps : steps.slice(from)) } : undefined
}
