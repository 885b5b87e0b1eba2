import type { ModuleContext, Storage } from 'agent-host'

/** Returns the storage that takes the place of a file: where servers share it, and the config asks for nothing else. */
export function sharedStorage(
  storage: Storage | undefined,
  { persist, file }: { readonly persist: boolean; readonly file?: string },
  { hasSharedStore }: ModuleContext,
): Storage | undefined {
  return hasSharedStore && persist && file === undefined ? storage : undefined
}
