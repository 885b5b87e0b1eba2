import type { DurableRun } from '../../../../durable/runs/durable-run.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'

/** Run that answers a request of this API. */
export type ResponseRun = DurableRun<ResponseRecord, InputItem>

/** Tells if the agent continues when its client has left. */
export function survivesDisconnect({ facts: { background, metadata } }: ResponseRun): boolean {
  return background || metadata.on_disconnect === 'continue'
}
