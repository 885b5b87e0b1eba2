import type { RecordStore } from '../../store/record-store.ts'
import { turnKey } from '../conversations/conversation-tree.ts'
import { BYTES, bytesPrefix, removeBytes } from '../conversations/turn-bytes.ts'

/**
 * Removes bytes whose turn was never stored: the server died in between. A turn is stored right after its bytes, so only those go
 * whose turn was missing at the look before, too.
 *
 * @param missing ids of the turns that were missing then
 * @returns ids of the turns that are missing now
 */
export async function sweepBytes(store: RecordStore, missing: ReadonlySet<string>): Promise<Set<string>> {
  const stillMissing = new Set<string>()
  for (let after: string | undefined; ; ) {
    const [key] = await store.list({ prefix: BYTES, limit: 1, after })
    if (key === undefined) return stillMissing
    const turnId = key.slice(BYTES.length, key.indexOf(':', BYTES.length))
    const [turn] = await store.get([turnKey(turnId)])
    if (turn === undefined && missing.has(turnId)) {
      await store.commit(await removeBytes(store, turnId), { absent: [turnKey(turnId)] })
    } else if (turn === undefined) stillMissing.add(turnId)
    // After all rows of this turn.
    after = `${bytesPrefix(turnId)}~`
  }
}
