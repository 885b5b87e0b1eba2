import { ROW_VERSION } from '../../../../durable/parse-row.ts'
import type { RunRow } from '../../../../durable/runs/run-row.ts'
import type { EndStep, PackedSteps } from '../../../../durable/runs/steps.ts'
import { NO_USAGE } from '../input/convert.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'

/** Row as the first version of this adapter stored it: the record as it was answered, whose output has the text. */
interface RowV1 {
  readonly response: ResponseRecord
  readonly steps: readonly (number | CallStepV1 | EndStep)[]
  readonly inputs: number
  readonly items?: readonly InputItem[]
  readonly idempotency?: string
}

/** Call that was stored as a `function_call` item, of the client or the agent. */
interface CallStepV1 {
  readonly call: { readonly callId: string; readonly name: string; readonly arguments: string }
}

/** Reads a row of the first version. */
export function readRowV1(raw: unknown): RunRow<ResponseRecord, InputItem> {
  const { response, steps, inputs, items, idempotency } = raw as RowV1
  return {
    version: ROW_VERSION,
    id: response.id,
    facts: beginningOf(response),
    text: response.output.map((item) => (item.type === 'message' ? (item.content[0]?.text ?? '') : '')).join(''),
    steps: steps.map((step) => (typeof step === 'object' && 'call' in step ? toPending(step) : step)),
    inputs,
    ...(items ? { items } : {}),
    ...(idempotency === undefined ? {} : { idempotency: { hash: idempotency } }),
  }
}

/** Returns the record as it was before its first step. */
function beginningOf(record: ResponseRecord): ResponseRecord {
  return {
    ...record,
    status: 'in_progress',
    completed_at: null,
    output: [],
    error: null,
    incomplete_details: null,
    usage: NO_USAGE,
  }
}

function toPending({ call: { callId, name, arguments: text } }: CallStepV1): PackedSteps['steps'][number] {
  return { pending: { callId, kind: 'client_tool', name, arguments: JSON.parse(text) } }
}
