import type { AscendingRange, Change, Entry, RecordStore } from './record-store.ts'

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
  const entries = await store.entries(rangeOf(log, from))
  return entries.map(([, entry]) => entry)
}

/** Returns what {@link readLog} returns of several logs, read together. */
export async function readLogs(
  store: RecordStore,
  logs: readonly { readonly log: string; readonly from: number }[],
): Promise<string[][]> {
  const found = await store.entriesOfEach(logs.map(({ log, from }) => rangeOf(log, from)))
  return found.map((entries) => entries.map(([, entry]) => entry))
}

/**
 * Returns some entries of a log with their keys, oldest first, also where the first ones have been removed.
 *
 * @param after key of the entry before
 */
export function readLogPage(
  store: RecordStore,
  log: string,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<Entry[]> {
  return store.entries({ prefix: `${log}:`, limit, after })
}

/** Returns the changes that remove the first entries of a log. */
export function removeLog(log: string, count: number): Change[] {
  return Array.from({ length: count }, (_, number) => removeFromLog(log, number))
}

/** Returns the change that removes one entry of a log. */
export function removeFromLog(log: string, number: number): Change {
  return [entryKey(log, number), undefined]
}

function rangeOf(log: string, from: number): AscendingRange {
  const after = from === 0 ? {} : { after: entryKey(log, from - 1) }
  return { prefix: `${log}:`, limit: MAX_ENTRIES, ...after }
}

function entryKey(log: string, number: number): string {
  return `${log}:${String(number).padStart(DIGITS, '0')}`
}
