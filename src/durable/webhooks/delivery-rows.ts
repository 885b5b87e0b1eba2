import type { Change, Entry, RecordStore } from '../../store/record-store.ts'
import { parseIndexKey } from '../../store/tenant-records.ts'
import { walkStore } from '../../store/walk-store.ts'
import { DamagedRow, parseRow } from '../rows/parse-row.ts'
import { DELIVERIES_DUE, tenantPart, timeKey } from '../rows/tenant-part.ts'
import type { UnreadableRows } from '../rows/unreadable-rows.ts'
import type { EventType } from './event-types.ts'
import type { Webhook } from './webhook.ts'

const DAY_MS = 24 * 3_600_000

/** Delivery of one event to one webhook, until it has arrived; dead ones are kept for a week. */
export interface Delivery {
  readonly version: number
  /** Id of the event, for the receiver: the same at each try. */
  readonly id: string
  readonly type: EventType
  /** Of the response, or of the approval. */
  readonly subject: string
  readonly hook: string
  /** Address without its query. */
  readonly shown: string
  /** Unix milliseconds, as the next. */
  readonly createdMs: number
  readonly dueMs: number
  readonly tries: number
  readonly isDead: boolean
  /** Why the last try failed. */
  readonly error?: string
}

/** A delivery as it was read, with its keys. */
export interface ReadDelivery {
  readonly key: string
  readonly text: string
  readonly delivery: Delivery
}

/** Prefix of the rows of deliveries. */
export const DELIVERIES = 'delivery:'

/** Changes that store a delivery, and the mark by which any server finds it when it is due. */
export function putDelivery(key: string, delivery: Delivery): Change[] {
  return [
    [dueKey(key, delivery), '1'],
    [key, JSON.stringify(delivery)],
  ]
}

/** Mark of a delivery, by webhook and time. */
function dueKey(key: string, { hook, dueMs }: Pick<Delivery, 'hook' | 'dueMs'>): string {
  return `${DELIVERIES_DUE}${hook}:${timeKey(dueMs)}:${key.slice(DELIVERIES.length)}`
}

/** Id of the run that a delivery tells of. */
export function runOfDelivery(key: string): string {
  return key.slice(DELIVERIES.length).split(':', 1)[0] ?? ''
}

/**
 * Reads the delivery that a mark is for, with its part of the store. A mark whose delivery is gone, or due at another time, is removed; one whose
 * row is damaged with it: no server can ever send it.
 *
 * @param all the whole store
 * @throws HostError `RECORD_UNREADABLE`
 */
export async function readMarked(
  all: RecordStore,
  indexKey: string,
): Promise<(ReadDelivery & { readonly records: RecordStore }) | undefined> {
  const { tenant, id } = parseIndexKey(DELIVERIES_DUE, indexKey)
  const records = tenantPart(all, tenant)
  const [mark, key] = [DELIVERIES_DUE + id, DELIVERIES + id.split(':').slice(2).join(':')]
  const [text] = await records.get([key])
  try {
    const read = text === undefined ? undefined : { records, key, text, delivery: parseDelivery(key, text) }
    if (read && dueKey(key, read.delivery) === mark) return read
  } catch (error) {
    if (error instanceof DamagedRow) await records.commit([mark, key].map((gone) => [gone, undefined]))
    throw error
  }
  await records.commit([[mark, undefined]])
  return undefined
}

/** Reads deliveries of a list: those that cannot be read are left out. */
export async function readDeliveries(entries: readonly Entry[], unreadable: UnreadableRows): Promise<ReadDelivery[]> {
  const read = entries.map(([key, text]) => unreadable.read(() => ({ key, text, delivery: parseDelivery(key, text) })))
  return (await Promise.all(read)).filter((each) => each !== undefined)
}

/** @throws HostError `RECORD_UNREADABLE` */
export function parseDelivery(key: string, text: string): Delivery {
  return parseRow<Delivery>(key, text, { id: 'string', type: 'string', hook: 'string', dueMs: 'number' })
}

/**
 * Puts a delivery in the place of one that was read; undefined removes it.
 *
 * @returns the delivery as it is stored now; undefined when another server was quicker
 */
export async function replaceDelivery(
  records: RecordStore,
  { key, text, delivery: before }: ReadDelivery,
  delivery: Delivery | undefined,
): Promise<ReadDelivery | undefined> {
  const due = dueKey(key, before)
  const changes: Change[] = delivery ? putDelivery(key, delivery) : [[key, undefined]]
  if (changes[0]?.[0] !== due) changes.unshift([due, undefined])
  const isReplaced = await records.commit(changes, { equal: [[key, text]] })
  return isReplaced && delivery ? { key, text: JSON.stringify(delivery), delivery } : undefined
}

/** Returns a delivery that is tried no more. */
export function toDead(delivery: Delivery, nowMs: number): Delivery {
  return { ...delivery, isDead: true, dueMs: nowMs + 7 * DAY_MS }
}

/**
 * Ends deliveries whose webhook is gone from the file of every server, of all tenants.
 *
 * @param hooks those of this server: theirs may only have waited for it to start again
 */
export async function expireDeliveries(
  records: RecordStore,
  unreadable: UnreadableRows,
  hooks: readonly Pick<Webhook, 'id'>[],
  nowMs = Date.now(),
): Promise<void> {
  const oldest = timeKey(nowMs - DAY_MS)
  const ids = new Set(hooks.map(({ id }) => id))
  for await (const page of walkStore(records, DELIVERIES_DUE))
    for (const [mark] of page) {
      const [, hook = '', time = ''] = mark.split(':')
      if (time <= oldest && !ids.has(hook)) await unreadable.read(() => expireDelivery(records, mark, nowMs))
    }
}

async function expireDelivery(all: RecordStore, mark: string, nowMs: number): Promise<void> {
  const read = await readMarked(all, mark)
  if (!read) return
  const { records, delivery } = read
  const error = 'No server has this webhook any more.'
  await replaceDelivery(records, read, delivery.isDead ? undefined : toDead({ ...delivery, error }, nowMs))
}
