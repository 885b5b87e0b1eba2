import { Opening } from '../async.ts'
import type { RecordStore } from './record-store.ts'

/** A store that is opened when it is first needed, and tried again when that has failed. */
export class LazyStore extends Opening<RecordStore> {
  async close(): Promise<void> {
    const store = await this.whenOpen()
    await store?.close()
  }
}
