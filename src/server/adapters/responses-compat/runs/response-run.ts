import type { DurableRun } from '../../../../durable/runs/durable-run.ts'
import type { InputItem, ResponseRecord } from '../routes/schema.ts'

/** Run that answers a request of this API. */
export type ResponseRun = DurableRun

/** Failure of a response whose client has left before the decision that it sent was carried out: it can be sent again. */
export const CLIENT_LEFT = 'The client left before the response was complete'

/** Tells if the agent continues when its client has left. */
export function survivesDisconnect({ facts: { background, metadata } }: ResponseRun): boolean {
  return background || metadata.on_disconnect === 'continue'
}
