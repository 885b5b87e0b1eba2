import { fieldsOf } from '../../../../json.ts'
import type { OutputItem, ResponseRecord } from './schema.ts'

/** Record in the dialect that has a status of its own for an answer that was cut off. */
export type ExtendedRecord = Omit<ResponseRecord, 'status'> & {
  status: ResponseRecord['status'] | 'incomplete' | 'queued'
}

export function toExtendedRecord(record: ResponseRecord): ExtendedRecord {
  const isIncomplete = record.status === 'completed' && record.incomplete_details !== null
  return { ...record, status: isIncomplete ? 'incomplete' : record.status, output: record.output.map(withPhase) }
}

/** Says of a whole message whether it is the answer, or stands before the calls of tools. */
function withPhase(item: OutputItem, index: number, { length }: readonly OutputItem[]): OutputItem {
  if (item.type !== 'message' || item.status !== 'completed') return item
  return { ...item, phase: index === length - 1 ? 'final_answer' : 'commentary' }
}

/** The same for any answer of a route: a record, a page of records, or something else. */
export function toExtendedPayload(payload: unknown): unknown {
  if (isRecord(payload)) return toExtendedRecord(payload)
  const fields = fieldsOf(payload)
  const { object, data } = fields
  return object === 'list' && Array.isArray(data) ? { ...fields, data: data.map(toExtendedPayload) } : payload
}

function isRecord(payload: unknown): payload is ResponseRecord {
  const { object, status } = fieldsOf(payload)
  return object === 'response' && status !== undefined
}
