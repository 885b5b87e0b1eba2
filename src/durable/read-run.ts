import { setTimeout as wait } from 'node:timers/promises'
import type { RunStore, StoredRun } from './run-store.ts'
import { isEnd, type Step } from './steps.ts'

/** Steps of a run, to be read as they come. */
export interface StepLog<Facts> {
  readonly id: string
  readonly facts: Facts
  /** Returns the steps from an index on, at least one; waits for it. None when the log is gone. */
  read(from: number): Promise<readonly Step[]>
}

/** Interval at which the store is asked about a run of another server. */
const POLL_MS = 250

/** Returns the steps of a run that does not go on in this process: it has ended, or another server runs it. */
export function readRun<Facts, Item>(
  store: RunStore<Facts, Item>,
  { id, facts, steps }: StoredRun<Facts, Item>,
  signal: AbortSignal,
): StepLog<Facts> {
  let known = steps
  return {
    id,
    facts,
    async read(from) {
      while (known.length <= from && !isEnd(known.at(-1)) && !signal.aborted) {
        await wait(POLL_MS)
        const now = await store.get(id)
        if (!now) return []
        known = now.steps
      }
      return known.slice(from)
    },
  }
}
