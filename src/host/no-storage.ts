import { HostError } from '../errors.ts'
import type { Sealing } from '../protocols/sealing.ts'
import type { Storage, StorageSource } from '../protocols/storage.ts'

async function refuse(): Promise<never> {
  throw new HostError('STORE_UNAVAILABLE', 'This host has no storage for modules.', {
    suggestions: ['Open the project with openProject, or give new AgentHost a storage.'],
  })
}

const REFUSING: Storage = Object.freeze({
  get: refuse,
  set: refuse,
  delete: refuse,
  list: refuse,
  replace: refuse,
  append: refuse,
})

/** Storage of a host that was given none: agents load, and a module fails when it uses its records. */
export const NO_STORAGE: StorageSource = Object.freeze({ isShared: false, storageOf: () => REFUSING })

/** Sealing of a host that was given none. */
export const NO_SEALING: Sealing = Object.freeze({ seal: refuse, unseal: refuse })
