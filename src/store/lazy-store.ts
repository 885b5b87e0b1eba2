import type { RecordStore } from './record-store.ts'

/** A store that is opened when it is first needed, and tried again when that has failed. */
export class LazyStore {
  readonly #openStore: () => Promise<RecordStore>
  #opening: Promise<RecordStore> | undefined

  constructor(openStore: () => Promise<RecordStore>) {
    this.#openStore = openStore
  }

  open(): Promise<RecordStore> {
    this.#opening ??= this.#openStore().catch((error) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async close(): Promise<void> {
    const store = await this.#opening?.catch(() => undefined)
    await store?.close()
  }
}
