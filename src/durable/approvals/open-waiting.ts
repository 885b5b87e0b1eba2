import type { PendingCall } from '../../run/waiting/pending-call.ts'
import type { Change } from '../../store/record-store.ts'
import { type Job, writeJob } from '../queue/job.ts'
import { jobKey } from '../runs/run-keys.ts'
import { nowSeconds } from '../runs/steps.ts'
import { openApprovals } from './approvals.ts'

/**
 * Changes that store what a run waits for, together with its end: approvals, and the job that a decision continues. None for a run that
 * waits for no person.
 */
export function openWaiting(runId: string, job: Job, pending: readonly PendingCall[]): Change[] {
  const { agent, approvalTtl: ttl } = job
  const approvals = openApprovals({ runId, agent, pending, createdAt: nowSeconds(), ttl })
  return approvals.length === 0 ? [] : [...approvals, [jobKey(runId), writeJob({ ...job, answers: undefined })]]
}
