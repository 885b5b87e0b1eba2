import type { DurableRun } from '../../../../durable/runs/durable-run.ts'

/** Failure of a response whose client has left before the decision that it sent was carried out: it can be sent again. */
export const CLIENT_LEFT = 'The client left before the response was complete'

/**
 * Ends a run whose client has left, unless its agent is to continue then.
 *
 * @param end for a run that does not carry out a decision
 */
export function endAbandoned(run: DurableRun, end: () => Promise<unknown>): void {
  const { background, metadata } = run.facts.options
  if (background === true || metadata?.on_disconnect === 'continue' || run.breakOff(CLIENT_LEFT)) return
  // The store is down: recovery ends abandoned runs.
  void end().catch(() => {})
}
