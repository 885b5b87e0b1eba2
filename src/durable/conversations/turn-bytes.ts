import { randomUUID } from 'node:crypto'
import { encodeBase64 } from '../../base64.ts'
import { appendLog, readLogPage } from '../../store/record-log.ts'
import type { Change, RecordStore } from '../../store/record-store.ts'
import { DamagedRow } from '../rows/parse-row.ts'

/** Reference to bytes that have rows of their own. They belong to a turn, and are removed with it. */
export interface StoredBytes {
  /** Id of the turn, and a name within it. */
  readonly id: string
  readonly size: number
}

/** Prefix of the rows with bytes. */
export const BYTES = 'bytes:'
/** Bytes from this size on get rows of their own: base64 within another row is copied whole wherever that row goes. */
const MIN_SIZE = 64 * 1024
/** Bytes in one row: a multiple of three, so that the base64 of the rows joins. */
const ROW_SIZE = 48 * 1024
/** Rows that are written or read at once. */
const PAGE = 16
/** More rows than a turn has. */
const MAX_ROWS = 1_000_000

/** Bytes that are about to be stored. As JSON they are the reference. */
export class NewBytes implements StoredBytes {
  readonly id: string
  readonly size: number
  readonly data: Uint8Array
  #isWritten = false

  constructor(turnId: string, data: Uint8Array) {
    this.id = `${turnId}:${randomUUID()}`
    this.size = data.length
    this.data = data
  }

  toJSON(): StoredBytes {
    return { id: this.id, size: this.size }
  }

  /** Writes the rows, once and some at a time: neither the event loop nor the store is held up. */
  async write(store: RecordStore): Promise<void> {
    if (this.#isWritten) return
    for (let row = 0; row * ROW_SIZE < this.size; row += PAGE) await store.commit(this.#rows(row, row + PAGE))
    this.#isWritten = true
  }

  #rows(from: number, to: number): Change[] {
    const rows: Change[] = []
    for (let row = from; row < to && row * ROW_SIZE < this.size; row++) {
      const base64 = encodeBase64(this.data.subarray(row * ROW_SIZE, (row + 1) * ROW_SIZE))
      rows.push(appendLog(BYTES + this.id, row, `"${base64}"`))
    }
    return rows
  }
}

/** Writes bytes before the rows that refer to them. */
export async function writeBytes(store: RecordStore, all: readonly NewBytes[]): Promise<void> {
  for (const bytes of all) await bytes.write(store)
}

/** Returns a function that gives large bytes rows of their own, under the id of a turn. */
export function takeLarge(turnId: string): (data: Uint8Array) => NewBytes | undefined {
  return (data) => (data.length >= MIN_SIZE ? new NewBytes(turnId, data) : undefined)
}

/**
 * Reads bytes, some rows at a time.
 *
 * @throws HostError `RECORD_UNREADABLE` when rows are missing
 */
export async function readBytes(store: RecordStore, { id, size }: StoredBytes): Promise<Uint8Array> {
  const data = Buffer.allocUnsafeSlow(size)
  let length = 0
  for (let after: string | undefined; length < size; ) {
    const rows = await readLogPage(store, BYTES + id, { after, limit: PAGE })
    if (rows.length === 0) throw new DamagedRow(`The stored bytes '${id}' are incomplete.`)
    for (const [, base64] of rows) length += data.write(base64.slice(1, -1), length, 'base64')
    after = rows.at(-1)?.[0]
  }
  return data
}

/**
 * Returns the changes that remove bytes.
 *
 * @param id of a turn, for all its bytes, or of {@link StoredBytes}
 */
export async function removeBytes(store: RecordStore, id: string): Promise<Change[]> {
  const keys = await store.list({ prefix: bytesPrefix(id), limit: MAX_ROWS })
  return keys.map((key): Change => [key, undefined])
}

/** @param id of a turn, or of {@link StoredBytes} */
export function bytesPrefix(id: string): string {
  return `${BYTES}${id}:`
}
