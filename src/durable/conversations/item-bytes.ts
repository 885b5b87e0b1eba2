import { DecodedUrl } from '../../data-url.ts'
import { type Fields, mapFields } from '../../json.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { BYTES, bytesPrefix, NewBytes, readBytes } from './turn-bytes.ts'

/** Items without the bytes of their data URLs. */
export interface LiftedItems {
  readonly items: readonly unknown[]
  /** Bytes that the items refer to. */
  readonly bytes: readonly NewBytes[]
}

/**
 * Puts references in the place of data URLs whose bytes were decoded. A reference has the id of the turn, which no client knew when
 * it sent the items.
 *
 * @param known bytes of the turn's messages: they are not stored twice
 */
export function liftItems(turnId: string, items: readonly unknown[], known: readonly NewBytes[]): LiftedItems {
  if (!holdsUrl(items)) return { items, bytes: known }
  const all = new Map(known.map((bytes) => [bytes.data, bytes]))
  const lift = (value: unknown): unknown => {
    if (value instanceof DecodedUrl) {
      const bytes = all.get(value.data) ?? new NewBytes(turnId, value.data)
      all.set(value.data, bytes)
      return `${BYTES}${bytes.id}:${bytes.size}:${value.head}`
    }
    if (Array.isArray(value)) return value.map(lift)
    if (typeof value !== 'object' || value === null) return value
    return mapFields(value as Fields, lift)
  }
  return { items: items.map(lift), bytes: [...all.values()] }
}

/** Parses the items of a row, with the bytes that they refer to. */
export async function parseItems(store: RecordStore, turnId: string, text: string): Promise<unknown[]> {
  if (!text.includes(bytesPrefix(turnId))) return JSON.parse(text)
  const reference = `${BYTES}(${turnId}:[0-9a-f-]+):(\\d+):`
  const bytes = new Map<string, Uint8Array>()
  for (const [, id = '', size] of text.matchAll(new RegExp(reference, 'g'))) {
    if (!bytes.has(id)) bytes.set(id, await readBytes(store, { id, size: Number(size) }))
  }
  const start = new RegExp(`^${reference}`)
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== 'string') return value
    const [found = '', id = ''] = start.exec(value) ?? []
    const data = bytes.get(id)
    return data ? new DecodedUrl(value.slice(found.length), data) : value
  })
}

function holdsUrl(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return value instanceof DecodedUrl || Object.values(value).some(holdsUrl)
}
