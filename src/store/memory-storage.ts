import type { StorageSource } from '../protocols/storage.ts'
import { LazyStore } from './lazy-store.ts'
import { recordStorage } from './record-storage.ts'

/**
 * Returns a storage for the modules of a host that is gone with the process, for tests.
 *
 * @param isShared true to have modules take it for the store of several servers; give it to several hosts then
 *
 * @example
 * ```ts
 * export const testHost = new AgentHost({ projectDir: '.', storage: memoryStorage() })
 * ```
 */
export function memoryStorage({ isShared = false }: { readonly isShared?: boolean } = {}): StorageSource {
  const store = new LazyStore(async () => {
    const { KeyvStore } = await import('./keyv/keyv-store.ts')
    return KeyvStore.open(new Map())
  })
  return recordStorage(() => store.open(), isShared)
}
