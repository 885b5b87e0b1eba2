import type { RunStatus } from '../types.ts'

/** Statuses as people read them. */
export const STATUS_TEXTS: Readonly<Record<RunStatus, string>> = {
  running: 'running',
  completed: 'completed',
  waiting: 'waiting for a person',
  expired: 'expired',
  handed_to_client: 'handed to the client',
  continued: 'continued',
  failed: 'failed',
  cancelled: 'cancelled',
  interrupted: 'interrupted',
}

interface StatusProps {
  readonly status: RunStatus
  /** Reason why the answer of a completed run is not complete. */
  readonly incomplete: string | null
}

export function Status({ status, incomplete }: StatusProps) {
  return (
    <span class="run-status">
      <span class={`status ${incomplete === null ? status : 'incomplete'}`} title={incomplete ?? undefined}>
        <span class="dot" aria-hidden="true" />
        <span class="status-text">{incomplete === null ? STATUS_TEXTS[status] : `incomplete: ${incomplete}`}</span>
      </span>
    </span>
  )
}
