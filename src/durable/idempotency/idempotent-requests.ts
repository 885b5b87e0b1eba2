import { hash } from 'node:crypto'
import { deferred } from '../../async.ts'
import { HostError } from '../../errors.ts'
import { fieldsOf } from '../../json.ts'
import type { Change, RecordStore } from '../../store/record-store.ts'
import { parseIndexKey } from '../../store/tenant-records.ts'
import { RequestRepeated } from '../decisions/until-claimed.ts'
import { EXPIRING_REQUESTS, tenantPart, timeKey } from '../rows/tenant-part.ts'

/** Request that may come again, and must not run again. */
export interface IdempotentRequest {
  /** Hash of the key that the client chose. */
  readonly hash: string
  /** Hash of the body. */
  readonly body: string
  /** Unix milliseconds. */
  readonly atMs: number
  /** Time for which it is remembered; left out: 24 hours. */
  readonly keptMs?: number | undefined
}

type KeptRequest = Pick<IdempotentRequest, 'hash' | 'atMs' | 'keptMs'>

interface RequestRow {
  readonly response_id: string
  readonly body: string
  readonly at_ms: number
  readonly kept_ms?: number | undefined
}

const EXPIRY_MS = 24 * 60 * 60 * 1000

/**
 * Requests that came with an `Idempotency-Key` (the header of the IETF draft of that name): the same key and body
 * within 24 hours get the response that the first one created.
 */
export class IdempotentRequests {
  readonly #store: RecordStore
  /** First requests that have not stored anything yet. */
  readonly #underWay = new Map<string, Promise<void>>()

  constructor(store: RecordStore) {
    this.#store = store
  }

  /**
   * Runs the first request with a key, and replays its answer to the others, which wait until the first is through.
   *
   * @param replay answers from the run of that id; undefined when nothing is left of it
   * @throws HostError `RESPONSE_CONFLICT` when the key came with another body
   */
  async once<T>(
    key: string,
    body: unknown,
    replay: (runId: string) => Promise<T | undefined>,
    run: (request: IdempotentRequest) => Promise<T>,
    keptMs?: number,
  ): Promise<T> {
    const request = toRequest(key, body, keptMs)
    for (;;) {
      const row = await this.find(request)
      if (row) {
        const replayed = await replay(row.response_id)
        if (replayed !== undefined) return replayed
        await this.#remove(keptOf(request.hash, row))
        continue
      }
      const underWay = this.#underWay.get(request.hash)
      if (underWay) await underWay
      else {
        const ran = await this.#runFirst(request, run)
        if (ran) return ran.answer
      }
    }
  }

  /** Forgets a request whose run has failed without an effect: it runs again when it comes again. */
  async forget(request: IdempotentRequest): Promise<void> {
    await this.#remove(request)
  }

  /** @returns undefined when another server was quicker with the same request */
  async #runFirst<T>(request: IdempotentRequest, run: (request: IdempotentRequest) => Promise<T>) {
    const { promise, resolve: release } = deferred()
    this.#underWay.set(request.hash, promise)
    try {
      return { answer: await run(request) }
    } catch (error) {
      if (!(error instanceof RequestRepeated)) throw error
      return undefined
    } finally {
      this.#underWay.delete(request.hash)
      release()
    }
  }

  /** @throws HostError `RESPONSE_CONFLICT` when the key came with another body */
  async find({ hash, body }: IdempotentRequest): Promise<RequestRow | undefined> {
    const row = await readRequest(this.#store, hash)
    if (row === undefined) return undefined
    if (isExpired(row)) return void (await this.#remove(keptOf(hash, row)))
    if (row.body !== body) throw new HostError('RESPONSE_CONFLICT', 'This Idempotency-Key was used with another body')
    return row
  }

  /** Removes exactly this row: its mark of expiry is its own, the key of the row may belong to a newer request by now. */
  async #remove(request: KeptRequest): Promise<void> {
    const removals = requestKeys(request).map((key): Change => [key, undefined])
    const expiry = expiryKey(request)
    if (await this.#store.commit(removals, { present: [expiry] })) return
    // Without its mark it was stored by half, or another has forgotten it.
    const now = await readRequest(this.#store, request.hash)
    if (now?.at_ms === request.atMs) await this.#store.commit(removals, { absent: [expiry] })
  }
}

export function toRequest(key: string, body: unknown, keptMs?: number): IdempotentRequest {
  return { hash: hash('sha256', key), body: hash('sha256', JSON.stringify(body)), atMs: Date.now(), keptMs }
}

/** Returns the row of a request, also one that has expired. */
export async function readRequest(store: RecordStore, hash: string): Promise<RequestRow | undefined> {
  const [text] = await store.get([requestKey(hash)])
  const row = parseRow(text)
  // A damaged one counts as none: the request runs, as it would without its key.
  if (text !== undefined && row === undefined) await store.commit([[requestKey(hash), undefined]])
  return row
}

function isExpired({ at_ms, kept_ms = EXPIRY_MS }: RequestRow): boolean {
  return Date.now() - at_ms >= kept_ms
}

/**
 * Removes the requests that have expired, of all tenants.
 *
 * @param records of the whole store
 */
export async function expireRequests(records: RecordStore): Promise<void> {
  const before = `${EXPIRING_REQUESTS}${timeKey(Date.now())}`
  for (;;) {
    const expired = await records.list({ prefix: EXPIRING_REQUESTS, before, limit: 500 })
    if (expired.length === 0) return
    for (const key of expired) {
      const { tenant, id } = parseIndexKey(EXPIRING_REQUESTS, key)
      await expireOne(tenantPart(records, tenant), EXPIRING_REQUESTS + id)
    }
  }
}

/** The row of an expired mark goes with it, unless a newer request has the key by now. */
async function expireOne(records: RecordStore, expiry: string): Promise<void> {
  const hash = expiry.slice(expiry.lastIndexOf(':') + 1)
  const [text] = await records.get([requestKey(hash)])
  const row = parseRow(text)
  const isOwn = row !== undefined && expiryKey(keptOf(hash, row)) === expiry
  const removals: Change[] = [[expiry, undefined], ...(isOwn ? [[requestKey(hash), undefined] as const] : [])]
  await records.commit(removals, { present: [expiry] })
}

/** Keys of the records of a request. */
export function requestKeys(request: KeptRequest): string[] {
  return [requestKey(request.hash), expiryKey(request)]
}

export function requestKey(hash: string): string {
  return `idempotency:${hash}`
}

/** Changes that store a request together with the run that it started. */
export function requestChanges(request: IdempotentRequest, runId: string): Change[] {
  const { hash, body, atMs, keptMs } = request
  const row: RequestRow = { response_id: runId, body, at_ms: atMs, kept_ms: keptMs }
  return [
    [expiryKey(request), '1'],
    [requestKey(hash), JSON.stringify(row)],
  ]
}

function parseRow(text: string | undefined): RequestRow | undefined {
  try {
    const { response_id, body, at_ms, kept_ms } = fieldsOf(JSON.parse(text ?? 'null'))
    if (typeof response_id !== 'string' || typeof body !== 'string' || typeof at_ms !== 'number') return undefined
    return { response_id, body, at_ms, kept_ms: typeof kept_ms === 'number' ? kept_ms : undefined }
  } catch {
    return undefined
  }
}

function keptOf(hash: string, { at_ms: atMs, kept_ms: keptMs }: RequestRow): KeptRequest {
  return { hash, atMs, keptMs }
}

function expiryKey({ hash, atMs, keptMs = EXPIRY_MS }: KeptRequest): string {
  return `${EXPIRING_REQUESTS}${timeKey(atMs + keptMs)}:${hash}`
}
