import cluster from 'node:cluster'
import type { Log } from '../../../protocols/log.ts'
import { isRemote, openStore } from '../../../store/open-store.ts'
import type { ServerOptions } from '../../options.ts'
import type { CallMemory } from './call-memory.ts'
import { LocalCallMemory } from './local-call-memory.ts'
import { StoredCallMemory } from './stored-call-memory.ts'

/** Opens a memory for calls: in the store where other servers share it, otherwise in this process. */
export function openCallMemory({ store, ...options }: ServerOptions, log: Pick<Log, 'warn'>): CallMemory {
  if (!isRemote(store) && !cluster.isWorker) return new LocalCallMemory()
  const { responsesDir: dir, projectDir, retentionDays } = options
  const openRecords = () => openStore({ store, dir, projectDir, warn: (message) => log.warn(message) })
  return new StoredCallMemory({ openRecords, retentionDays })
}
