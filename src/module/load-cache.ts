interface CachedLoad<T> {
  readonly promise: Promise<T>
  /** Absolute paths; undefined while it is being loaded. */
  files?: readonly string[]
}

/** Results of loading by key, each kept until one of the files that it consists of changes. Failures are not kept. */
export class LoadCache<T extends { readonly files: readonly string[] }> {
  readonly #loads = new Map<string, CachedLoad<T>>()

  get(key: string, load: () => Promise<T>): Promise<T> {
    const known = this.#loads.get(key)
    if (known) return known.promise
    const started: CachedLoad<T> = { promise: load() }
    this.#loads.set(key, started)
    started.promise.then(
      ({ files }) => {
        started.files = files
      },
      // A failed load is tried again: its cause may be a file that is not watched.
      () => {
        if (this.#loads.get(key) === started) this.#loads.delete(key)
      },
    )
    return started.promise
  }

  /** Drops modules built from these files (absolute paths), and loads in progress, which may have read them before. */
  forget(changed: ReadonlySet<string>): void {
    for (const [key, { files }] of this.#loads) {
      if (!files || files.some((file) => changed.has(file))) this.#loads.delete(key)
    }
  }
}
