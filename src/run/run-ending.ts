import type { RunStatus } from './run-event.ts'
import type { RunEnd } from './turn.ts'

/** End of a run as people read it. `handed_to_client`: it waits for nothing but the output of its client's tools. */
export type RunEnding = RunStatus | 'handed_to_client'

export function endingOf({ status, pending }: Ending): RunEnding {
  const isHandedOver = status === 'waiting' && pending.every(({ kind }) => kind === 'client_tool')
  return isHandedOver ? 'handed_to_client' : status
}

interface Ending {
  readonly status: RunEnd['status']
  readonly pending: readonly { readonly kind: string }[]
}
