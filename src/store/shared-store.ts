import { existsSync } from 'node:fs'
import { CheckedStore } from './checked-store.ts'
import { embeddedFile, openEngine, type StoreLocation } from './open-store.ts'
import type { RecordStore } from './record-store.ts'
import { claimFormat } from './store-format.ts'

/** A store that parts of one process share, with one connection or thread: open from its first user to its last. */
export class SharedStore {
  readonly #location: StoreLocation
  #engine: Promise<RecordStore> | undefined
  #closed: Promise<void> | undefined
  #users = 0

  constructor(location: StoreLocation) {
    this.#location = location
  }

  /** Tells whether there is a store: the embedded one is made by its first user. */
  exists(): boolean {
    const file = embeddedFile(this.#location)
    return file === undefined || existsSync(file)
  }

  /**
   * Opens the store for one more user, who closes it.
   *
   * @throws HostError as `openStore`; the next user tries again
   */
  async open(): Promise<RecordStore> {
    this.#engine ??= this.#openEngine()
    const engine = this.#engine
    this.#users++
    try {
      let leaving: Promise<void> | undefined
      return new CheckedStore(await engine, () => {
        leaving ??= this.#leave()
        return leaving
      })
    } catch (error) {
      this.#users--
      if (this.#engine === engine) this.#engine = undefined
      throw error
    }
  }

  /** Some backends have one user at a time: the one before is closed first, and tells its own user if it cannot. */
  async #openEngine(): Promise<RecordStore> {
    await this.#closed?.catch(() => {})
    return openEngine(this.#location, claimFormat)
  }

  async #leave(): Promise<void> {
    if (--this.#users > 0) return
    const engine = this.#engine
    // At once: who comes while it is closed gets another.
    this.#engine = undefined
    this.#closed = engine?.then((open) => open.close())
    await this.#closed
  }
}
