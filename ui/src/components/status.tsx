import type { RunStatus } from '../types.ts'

const TEXTS: Readonly<Record<RunStatus, string>> = {
  running: 'running',
  completed: 'completed',
  waiting: 'waiting',
  continued: 'continued',
  failed: 'failed',
  cancelled: 'cancelled',
  interrupted: 'interrupted',
}

export function Status({ status }: { status: RunStatus }) {
  return (
    <span class={`status ${status}`}>
      <span class="dot" aria-hidden="true" />
      {TEXTS[status]}
    </span>
  )
}
