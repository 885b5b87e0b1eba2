import cluster from 'node:cluster'
import { isRemote } from '../../../../store/open-store.ts'
import type { RecordStore } from '../../../../store/record-store.ts'
import type { ServerOptions } from '../../../options/options.ts'
import type { CallMemory } from './call-memory.ts'
import { LocalCallMemory } from './local-call-memory.ts'
import { StoredCallMemory } from './stored-call-memory.ts'

/** Opens a memory for calls: in the store where other servers share it, otherwise in this process. */
export function openCallMemory(
  { store, retentionDays }: ServerOptions,
  openRecords: () => Promise<RecordStore>,
): CallMemory {
  if (!isRemote(store) && !cluster.isWorker) return new LocalCallMemory()
  return new StoredCallMemory({ openRecords, retentionDays })
}
