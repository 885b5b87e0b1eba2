import { HostError } from '../../errors.ts'
import { readLog, readLogs } from '../../store/record-log.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { DamagedRow } from '../rows/parse-row.ts'
import { rowKey, stepsLog } from './run-keys.ts'
import { endOf, parseRunRow } from './run-row.ts'
import { type Step, unpackSteps } from './steps.ts'

/** Steps of a run in progress. */
export interface StoredSteps {
  readonly steps: Step[]
  /** Number of batches in which they are stored. */
  readonly batches: number
}

/** Run in progress, with the number of batches that are known of it. */
export interface KnownBatches {
  readonly id: string
  readonly batches: number
}

/** In the place of a damaged batch of a run that is ended: a call may have begun in it. */
const LOST: readonly Step[] = [{ hidden: null }]

/**
 * Reads the steps of a run in progress.
 *
 * @param isEnding true for a run that is to end with what can be read of it
 * @throws HostError `RECORD_UNREADABLE`
 */
export async function readSteps(records: RecordStore, id: string, { isEnding = false } = {}): Promise<StoredSteps> {
  const entries = await readLog(records, stepsLog(id))
  const read = (entry: string) => (isEnding ? orUnreadable(() => parseBatch(id, entry)) : parseBatch(id, entry))
  const batches = entries.map(read)
  return { steps: batches.flatMap((steps) => (steps instanceof Error ? LOST : steps)), batches: entries.length }
}

/**
 * Reads what is new of runs in progress, together.
 *
 * @returns for each run the further batches, or why these cannot be read
 */
export async function readStepsOfEach(
  records: RecordStore,
  runs: readonly KnownBatches[],
): Promise<(Step[][] | HostError)[]> {
  const logs = runs.map(({ id, batches }) => ({ log: stepsLog(id), from: batches }))
  const found = await readLogs(records, logs)
  return runs.map(({ id }, index) => orUnreadable(() => (found[index] ?? []).map((entry) => parseBatch(id, entry))))
}

/** All steps of a run that has ended, or how it is otherwise. */
export type EndLook = readonly Step[] | 'running' | 'gone' | HostError

/** Looks, in one request, which of the runs have ended. A row that cannot be read is an error of its run alone. */
export async function lookForEnds(records: RecordStore, ids: readonly string[]): Promise<EndLook[]> {
  const texts = await records.get(ids.map(rowKey))
  return ids.map((id, index) => orUnreadable(() => toEndLook(id, texts[index])))
}

function toEndLook(id: string, text: string | undefined): EndLook {
  if (text === undefined) return 'gone'
  const row = parseRunRow(id, text)
  return endOf(row) ? unpackSteps(row) : 'running'
}

/** Returns what can be read, or the error of what cannot. */
function orUnreadable<T>(read: () => T): T | HostError {
  try {
    return read()
  } catch (error) {
    if (error instanceof HostError) return error
    throw error
  }
}

/** @throws HostError `RECORD_UNREADABLE` */
function parseBatch(id: string, entry: string): Step[] {
  try {
    const steps: unknown = JSON.parse(entry)
    if (Array.isArray(steps)) return steps
  } catch {
    // As one that is no list.
  }
  throw new DamagedRow(`The steps of the stored response '${id}' are damaged.`)
}
