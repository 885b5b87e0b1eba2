import { closedIn } from '../durable/approvals/closed-in.ts'
import { uuidOf } from '../durable/runs/run-ids.ts'
import { QUEUED } from '../durable/runs/run-keys.ts'
import type { Visits } from '../host/visits.ts'
import type { Change, Entry, RecordStore } from '../store/record-store.ts'
import { parseIndexKey, tenantOf } from '../store/tenant-records.ts'
import { type AuditFacts, type AuditLog, factsOf } from './audit-log.ts'

/**
 * Has a store of its own for the durable runs write the line of each decision before it is committed, and of each run that a request puts into the
 * queue. Every door commits what it decides: none is forgotten here.
 *
 * @param records of the whole store; its methods are changed
 */
export function auditRecords(records: RecordStore, audit: AuditLog, visits: Visits): RecordStore {
  const commit = records.commit.bind(records)
  records.commit = async (changes, guards, notify) => {
    const { current } = visits
    const decided = decisionsIn(changes, guards?.equal, audit).map((facts) => ({ ...factsOf(current), ...facts }))
    audit.require(...decided.map((facts) => ({ event: 'decision', ...facts }) as const))
    if (current) {
      audit.note(...queuedIn(changes).map((facts) => ({ event: 'run_queued', ...factsOf(current), ...facts }) as const))
    }
    const tell = (event: 'decision_lost' | 'decision_unknown') => {
      audit.note(...decided.map((facts) => ({ event, ...facts })))
    }
    try {
      const isCommitted = await commit(changes, guards, notify)
      // Another was quicker: it may be tried again, which is another line.
      if (!isCommitted) tell('decision_lost')
      return isCommitted
    } catch (error) {
      // The answer of the store may be what was lost.
      tell('decision_unknown')
      throw error
    }
  }
  return records
}

type Facts = Omit<AuditFacts, 'event'>

function decisionsIn(changes: readonly Change[], before: readonly Entry[] | undefined, audit: AuditLog): Facts[] {
  return closedIn(changes, before).map(({ key, approval: { id, runId, agent, pending, status, decision } }) => {
    const edited = decision?.answer.kind === 'approval' ? decision.answer.arguments : undefined
    return {
      tenant: tenantOf(key) || undefined,
      agent,
      run_id: uuidOf(runId),
      approval: id,
      tool: pending.name,
      status,
      by: decision?.by,
      arguments: audit.macOf(edited ?? pending.arguments),
    }
  })
}

function queuedIn(changes: readonly Change[]): Facts[] {
  return changes.flatMap(([key, text]) => {
    if (text === undefined || !key.startsWith(QUEUED)) return []
    const { tenant, id } = parseIndexKey(QUEUED, key)
    return [{ tenant: tenant || undefined, run_id: uuidOf(id) }]
  })
}
