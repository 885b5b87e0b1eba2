import type { CheckTime } from '../checks/check-time.ts'
import type { CallBudget } from '../state/call-budget.ts'
import type { RunQuota } from '../state/run-quota.ts'
import type { RunHandle, Turn } from '../turn.ts'

/** Run that began another. */
export interface ParentRun {
  readonly runId: string
  /** Observed call that began it; undefined without listeners. */
  readonly callId: string | undefined
  /** 1 for the child of a run that a client began. */
  readonly depth: number
  /** Limit that its calls share with those of the runs that it begins; undefined where they are not limited. */
  readonly callBudget: CallBudget | undefined
  /** Place among the runs of its sender, which its calls of models count for; undefined for one without limits. */
  readonly quota: RunQuota | undefined
  /** Time that its checks share with those of the runs that it begins. */
  readonly checkTime: CheckTime
}

/**
 * Starts a run of another agent, on the slot of its parent; one of a variant once that is open.
 *
 * @throws HostError `AGENT_NOT_FOUND`, `REQUEST_INVALID`
 */
export type StartChild = (name: string, turn: Turn, parent: ParentRun) => RunHandle | Promise<RunHandle>
