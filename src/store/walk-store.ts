import { badOption } from '../errors.ts'
import { parseJson } from '../json.ts'
import type { Entry, RecordStore } from './record-store.ts'
import { kindOf } from './tenant-records.ts'

/** Records that are read at once: each may have megabytes. */
const PAGE = 64
/** Characters of the values in one commit, unless one value alone has more. A picture is many large records. */
const MAX_COMMIT_LENGTH = 2 * 1024 * 1024

/** Returns all records of a store, or those under a prefix, a page at a time, in the order of their keys. */
export async function* walkStore(store: RecordStore, prefix = ''): AsyncGenerator<Entry[]> {
  for (let after: string | undefined; ; ) {
    const page = await store.entries({ prefix, limit: PAGE, after })
    if (page.length > 0) yield page
    if (page.length < PAGE) return
    after = page.at(-1)?.[0]
  }
}

/**
 * Copies every record, byte by byte, into an empty store.
 *
 * @returns the number of records
 * @throws HostError `OPTION_INVALID` when the target has records
 */
export async function copyStore(from: RecordStore, to: RecordStore): Promise<number> {
  if ((await to.list({ prefix: '', limit: 1 })).length > 0) {
    throw badOption('The store that is copied to is not empty; nothing changed.')
  }
  let copied = 0
  for await (const page of walkStore(from)) {
    for (const part of inParts(page)) await to.commit(part)
    copied += page.length
  }
  return copied
}

/** Returns the entries in parts that one commit can hold. */
function* inParts(entries: readonly Entry[]): Generator<Entry[]> {
  let part: Entry[] = []
  let length = 0
  for (const entry of entries) {
    if (part.length > 0 && length + entry[1].length > MAX_COMMIT_LENGTH) {
      yield part
      part = []
      length = 0
    }
    part.push(entry)
    length += entry[1].length
  }
  if (part.length > 0) yield part
}

/** Reads every record. Returns how many there are of each kind, and the keys of those that are no JSON. */
export async function checkRecords(store: RecordStore): Promise<{ counts: Map<string, number>; damaged: string[] }> {
  const counts = new Map<string, number>()
  const damaged: string[] = []
  for await (const page of walkStore(store)) {
    for (const [key, value] of page) {
      const kind = kindOf(key)
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
      if (parseJson(value) === undefined) damaged.push(key)
    }
  }
  return { counts, damaged }
}
