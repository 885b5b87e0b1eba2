import type { Change, RecordStore } from '../../store/record-store.ts'
import { parseIndexKey } from '../../store/tenant-records.ts'
import { parseRow } from '../rows/parse-row.ts'
import { DELIVERIES_DUE, tenantPart } from '../rows/tenant-part.ts'
import type { EventType } from './event-types.ts'

const DAY_MS = 24 * 3_600_000
const PAGE = 500

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
export function dueKey(key: string, { hook, dueMs }: Pick<Delivery, 'hook' | 'dueMs'>): string {
  return `${DELIVERIES_DUE}${hook}:${toSortable(dueMs)}:${key.slice(DELIVERIES.length)}`
}

/** Key of the delivery that a mark is for. @param mark without the tenant */
export function keyOfMark(mark: string): string {
  const rest = mark.slice(DELIVERIES_DUE.length)
  return DELIVERIES + rest.split(':').slice(2).join(':')
}

/** Id of the run that a delivery tells of. */
export function runOfDelivery(key: string): string {
  return key.slice(DELIVERIES.length).split(':', 1)[0] ?? ''
}

/** @throws HostError `RECORD_UNREADABLE` */
export async function readDelivery(records: RecordStore, key: string): Promise<ReadDelivery | undefined> {
  const [text] = await records.get([key])
  return text === undefined ? undefined : { key, text, delivery: parseDelivery(key, text) }
}

/** @throws HostError `RECORD_UNREADABLE` */
export function parseDelivery(key: string, text: string): Delivery {
  return parseRow<Delivery>(key, text, { id: 'string', type: 'string', hook: 'string', dueMs: 'number' })
}

/** Milliseconds as a text that sorts like the number. */
export function toSortable(ms: number): string {
  return String(ms).padStart(15, '0')
}
/** Puts a delivery in the place of one that was read; undefined when another server was quicker. */
export async function replaceDelivery(
  records: RecordStore,
  { key, text, delivery: before }: ReadDelivery,
  delivery: Delivery,
): Promise<ReadDelivery | undefined> {
  const isMoved = dueKey(key, before) !== dueKey(key, delivery)
  const changes = [...(isMoved ? [[dueKey(key, before), undefined] as const] : []), ...putDelivery(key, delivery)]
  const isReplaced = await records.commit(changes, { equal: [[key, text]] }, [])
  return isReplaced ? { key, text: JSON.stringify(delivery), delivery } : undefined
}

/** Removes a delivery that was read, unless it has changed. */
export async function removeDelivery(records: RecordStore, { key, text, delivery }: ReadDelivery): Promise<void> {
  await records.commit(
    [
      [dueKey(key, delivery), undefined],
      [key, undefined],
    ],
    { equal: [[key, text]] },
  )
}

/** Returns a delivery that is tried no more. */
export function toDead(delivery: Delivery, nowMs: number): Delivery {
  return { ...delivery, isDead: true, dueMs: nowMs + 7 * DAY_MS }
}

/** Ends deliveries whose webhook is gone from the file of every server, of all tenants. */
export async function expireDeliveries(records: RecordStore, nowMs = Date.now()): Promise<void> {
  const oldest = toSortable(nowMs - DAY_MS)
  for (let after: string | undefined; ; ) {
    const marks = await records.list({ prefix: DELIVERIES_DUE, limit: PAGE, ...(after === undefined ? {} : { after }) })
    for (const each of marks) {
      const { tenant, id } = parseIndexKey(DELIVERIES_DUE, each)
      if ((id.split(':')[1] ?? '') > oldest) continue
      const own = tenantPart(records, tenant)
      const read = await readDelivery(own, keyOfMark(DELIVERIES_DUE + id))
      if (!read) await own.commit([[DELIVERIES_DUE + id, undefined]])
      else if (read.delivery.isDead) await removeDelivery(own, read)
      else
        await replaceDelivery(
          own,
          read,
          toDead({ ...read.delivery, error: 'No server has this webhook any more.' }, nowMs),
        )
    }
    if (marks.length < PAGE) return
    after = marks.at(-1)
  }
}
