import { FLAG, object, optional, requireGiven } from '../given.ts'
import type { StorageSource } from '../protocols/storage.ts'
import { LazyStore } from './lazy-store.ts'
import { recordStorage } from './record-storage.ts'

const OPTIONS = object({ isShared: optional(FLAG) })

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
export function memoryStorage(options: { readonly isShared?: boolean } = {}): StorageSource {
  requireGiven(OPTIONS, options, 'options')
  const { isShared = false } = options
  const store = new LazyStore(async () => {
    const { KeyvStore } = await import('./keyv/keyv-store.ts')
    return KeyvStore.open(new Map())
  })
  return recordStorage(
    () => store.open(),
    isShared,
    () => {},
  )
}
