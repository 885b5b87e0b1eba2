import type { DurableRun } from '../../../../durable/runs/durable-run.ts'

/** Failure of a response whose client has left before the decision that it sent was carried out: it can be sent again. */
export const CLIENT_LEFT = 'The client left before the response was complete'

/** Tells if the agent continues when its client has left. */
export function survivesDisconnect({ facts: { options } }: DurableRun): boolean {
  return options.background === true || options.metadata?.on_disconnect === 'continue'
}
