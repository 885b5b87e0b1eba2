import { fieldsOf, parseJson } from '../json.ts'
import type { Change, RecordStore } from '../store/record-store.ts'
import { REPLIES } from './remote-questions.ts'
import { readEntry, readReplicas, replicaKey, runLog } from './replica-rows.ts'

const HOUR_MS = 60 * 60 * 1000
/** Time after which the runs of a server that is gone are forgotten. */
const KEPT_MS = 7 * 24 * HOUR_MS
const PAGE = 500

/** Removes the data of stopped servers: their runs a week after the last one, and unread answers. */
export async function forgetOldServers(store: RecordStore, nowMs: number): Promise<void> {
  for (const { id } of await readReplicas(store)) {
    if (await store.isServerAlive(id)) continue
    const [last] = await store.entries({ prefix: `${runLog(id)}:`, order: 'desc', limit: 1 })
    const at = last && readEntry(last[1])?.at
    // A newer version may be able to read it.
    if (last && (at === undefined || nowMs - at < KEPT_MS)) continue
    await removeAll(store, `${runLog(id)}:`)
    await store.commit([[replicaKey(id), undefined]])
  }
  const replies = await store.entries({ prefix: REPLIES, limit: PAGE })
  const old = replies.filter(([, text]) => nowMs - readTime(text) > HOUR_MS)
  if (old.length > 0) await store.commit(old.map(([key]): Change => [key, undefined]))
}

/** Time of an answer; that of a damaged one is long ago. */
function readTime(text: string): number {
  const { at } = fieldsOf(parseJson(text))
  return typeof at === 'number' ? at : 0
}

async function removeAll(store: RecordStore, prefix: string): Promise<void> {
  for (let count = PAGE; count === PAGE; ) {
    const keys = await store.list({ prefix, limit: PAGE })
    if (keys.length > 0) await store.commit(keys.map((key): Change => [key, undefined]))
    count = keys.length
  }
}
