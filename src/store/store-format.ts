import { HostError } from '../errors.ts'
import type { RecordStore } from './record-store.ts'

/** Format of the records that this version writes and reads: the version of its rows. */
export const STORE_FORMAT = 5

/** Record that names the format. Its key is the last of all: a copy that was broken off has none. */
const KEY = '~format'

/** Reason for which a store is not opened: its records have another format. */
export class OtherFormat extends Error {}

/** Returns true for the error of a store that was not opened for its format. */
export function isOtherFormat(error: unknown): boolean {
  return error instanceof HostError && error.cause instanceof OtherFormat
}

/**
 * Names the format in an empty store. Of several servers that begin it together, one does.
 *
 * @throws OtherFormat for a store with records of another format, or of none: nothing is changed then
 */
export async function claimFormat(store: RecordStore): Promise<void> {
  const format = await readFormat(store)
  if (format === STORE_FORMAT) return
  if (format === undefined && (await store.commit([[KEY, String(STORE_FORMAT)]], { absent: [''] }))) return
  // Another server may have been quicker.
  const found = await readFormat(store)
  if (found !== STORE_FORMAT) throw new OtherFormat(describe(found))
}

async function readFormat(store: RecordStore): Promise<number | undefined> {
  const [text] = await store.get([KEY])
  return text === undefined ? undefined : Number(text)
}

function describe(found: number | undefined): string {
  if (found !== undefined && found > STORE_FORMAT) return 'was written by a later version of agent-host'
  return 'was written by an earlier build of agent-host, and is not read by this one'
}
