import { createHash } from 'node:crypto'
import { HostError } from '../../../errors.ts'
import type { Change, RecordStore } from '../../../store/record-store.ts'
import type { CreateRequest } from './schema.ts'

/** A request that may come again, and must not run again. */
export interface IdempotentRequest {
  /** Of the key that the client chose. */
  readonly hash: string
  /** Of the body. */
  readonly body: string
  /** Unix milliseconds. */
  readonly atMs: number
}

interface Row {
  readonly response_id: string
  readonly body: string
  readonly at_ms: number
}

const EXPIRY_MS = 24 * 60 * 60 * 1000
const EXPIRIES = 'expires:'

/**
 * The requests that came with an `Idempotency-Key` (the header of the IETF draft of that name): the same key and body
 * within 24 hours gives the response that the first one made.
 */
export class IdempotentRequests {
  readonly #store: RecordStore
  /** Those that have not stored anything yet. */
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(store: RecordStore) {
    this.#store = store
  }

  /**
   * Finds out whether a request is the first with its key. Others with the same key wait until the first has `released`.
   *
   * @returns the id of the response that the first one made, or the request itself when it is the first
   * @throws HostError `RESPONSE_CONFLICT` when the key came with another body
   */
  async find(
    key: string,
    body: CreateRequest,
  ): Promise<{ responseId: string } | { request: IdempotentRequest; release: () => void }> {
    const request = { hash: sha256(key), body: sha256(JSON.stringify(body)), atMs: Date.now() }
    for (;;) {
      const row = await this.#row(request.hash)
      if (row && row.body !== request.body) throw anotherBody()
      if (row) return { responseId: row.response_id }
      const underWay = this.#underWay.get(request.hash)
      if (!underWay) return { request, release: this.#hold(request.hash) }
      await underWay
    }
  }

  #hold(hash: string): () => void {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    this.#underWay.set(hash, released)
    return () => {
      this.#underWay.delete(hash)
      release()
    }
  }

  /** Forgets the requests that have expired. */
  async expire(nowMs = Date.now()): Promise<void> {
    const before = `${EXPIRIES}${timeKey(nowMs)}`
    for (;;) {
      const keys = await this.#store.list({ prefix: EXPIRIES, before, limit: 500 })
      if (keys.length === 0) return
      const removals = keys.flatMap((key) => [key, requestKey(key.split(':')[2] ?? '')])
      await this.#store.commit(removals.map((key): Change => [key, undefined]))
    }
  }

  async #row(hash: string): Promise<Row | undefined> {
    const [text] = await this.#store.get([requestKey(hash)])
    if (text === undefined) return undefined
    const row = JSON.parse(text) as Row
    if (Date.now() - row.at_ms < EXPIRY_MS) return row
    await this.#store.commit([[requestKey(hash), undefined]])
    return undefined
  }
}

export function requestKey(hash: string): string {
  return `idempotency:${hash}`
}

/** What stores a request together with the response that it made. */
export function requestChanges({ hash, body, atMs }: IdempotentRequest, responseId: string): Change[] {
  const row: Row = { response_id: responseId, body, at_ms: atMs }
  return [
    [requestKey(hash), JSON.stringify(row)],
    [`${EXPIRIES}${timeKey(atMs + EXPIRY_MS)}:${hash}`, '1'],
  ]
}

function anotherBody(): HostError {
  return new HostError('RESPONSE_CONFLICT', 'This Idempotency-Key came with another body before')
}

/** Ordered as texts are. */
function timeKey(ms: number): string {
  return String(ms).padStart(15, '0')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
