import type { Change, RecordStore } from './record-store.ts'

/** Digits of a number: keys are compared as texts. */
const DIGITS = 9
/** More entries than any log has. */
const MAX_ENTRIES = 1_000_000

/**
 * Returns the change that writes one entry of a numbered log. Logs are records: an entry is committed together with others,
 * under the same guards. One writer at a time, fenced, numbers the entries of a log without a gap.
 *
 * @param number from 0
 */
export function appendLog(log: string, number: number, entry: string): Change {
  return [entryKey(log, number), entry]
}

/**
 * Returns the entries of a log from a number on, oldest first.
 *
 * @param from number of the first entry wanted
 */
export async function readLog(store: RecordStore, log: string, from = 0): Promise<string[]> {
  const after = from === 0 ? {} : { after: entryKey(log, from - 1) }
  const entries = await store.entries({ prefix: `${log}:`, limit: MAX_ENTRIES, ...after })
  return entries.map(([, entry]) => entry)
}

/** Returns the changes that remove the first entries of a log. */
export function removeLog(log: string, count: number): Change[] {
  return Array.from({ length: count }, (_, number) => [entryKey(log, number), undefined])
}

function entryKey(log: string, number: number): string {
  return `${log}:${String(number).padStart(DIGITS, '0')}`
}
