import { createHmac } from 'node:crypto'
import type { RecordStore } from '../../store/record-store.ts'
import { isExpired, readRequest, requestChanges } from './idempotent-requests.ts'

/** Apart from the hashes of idempotent requests. */
const PURPOSE = 'run-note'

/** Runs that later requests lead back to, by texts that both have: rows like those of idempotent requests, which expire with them. */
export class RunNotes {
  readonly #store: RecordStore

  /** @param store part of one tenant */
  constructor(store: RecordStore) {
    this.#store = store
  }

  /** Keeps the run of these texts for 24 hours. */
  async add(texts: readonly string[], runId: string): Promise<void> {
    const atMs = Date.now()
    await this.#store.commit(
      texts.flatMap((text) => requestChanges({ hash: hashOf(text), body: PURPOSE, atMs }, runId)),
    )
  }

  /** Returns the id of the run that was kept last; undefined where there is none. */
  async find(text: string): Promise<string | undefined> {
    const row = await readRequest(this.#store, hashOf(text))
    return row && !isExpired(row) ? row.response_id : undefined
  }
}

function hashOf(text: string): string {
  return createHmac('sha256', PURPOSE).update(text).digest('hex')
}
