import type { Run } from '../../protocols/run.ts'
import type { Storage } from '../../protocols/storage.ts'

/** Returns the storage of a module that lives within one run: calls that name no run are about that run. */
export function storageOfRun(storage: Storage, own: Run): Storage {
  return {
    get: (key, run = own) => storage.get(key, run),
    set: (key, value, run = own) => storage.set(key, value, run),
    delete: (key, run = own) => storage.delete(key, run),
    list: (range, run = own) => storage.list(range, run),
    replace: (key, expected, value, run = own) => storage.replace(key, expected, value, run),
    append: (log, value, run = own) => storage.append(log, value, run),
  }
}
