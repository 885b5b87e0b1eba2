import { HostError } from '../../errors.ts'
import { readLog, readLogs } from '../../store/record-log.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { DamagedRow } from '../rows/parse-row.ts'
import { stepsLog } from './run-keys.ts'
import type { Step } from './steps.ts'

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

/** @throws HostError `RECORD_UNREADABLE` */
export async function readSteps(records: RecordStore, id: string): Promise<StoredSteps> {
  const entries = await readLog(records, stepsLog(id))
  return { steps: entries.flatMap((entry) => parseBatch(id, entry)), batches: entries.length }
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
  return runs.map(({ id }, index) => tryParseBatches(id, found[index] ?? []))
}

function tryParseBatches(id: string, entries: readonly string[]): Step[][] | HostError {
  try {
    return entries.map((entry) => parseBatch(id, entry))
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
