import type { PendingCall } from '../../run/waiting/pending-call.ts'
import type { Change } from '../../store/record-store.ts'
import { PROGRAM } from './run-facts.ts'
import { waitingKey } from './run-keys.ts'

/** Tells whether a run is listed by a mark while it waits: a program has no other sign of its calls, and approvals have their own. */
export function isMarked(adapter: string, pending: readonly PendingCall[]): boolean {
  return adapter === PROGRAM && pending.some(({ kind }) => kind === 'client_tool')
}

export function markWaiting(runId: string): Change {
  return [waitingKey(runId), 'null']
}

export function unmarkWaiting(runId: string): Change {
  return [waitingKey(runId), undefined]
}
