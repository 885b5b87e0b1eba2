import { HostError } from '../../errors.ts'
import type { Log } from '../../protocols/log.ts'
import type { PendingAnswer } from '../../run/waiting/pending-call.ts'
import { type Approvals, claimOf, type StoredApproval } from '../approvals/approvals.ts'
import { RequestRepeated } from '../idempotency/idempotent-requests.ts'
import type { Job } from '../queue/job.ts'
import type { Draft } from '../runs/run-row.ts'
import { joinClaims } from './claim.ts'
import type { NextRun } from './next-run.ts'
import { answersOf, type Decisions, isDecided, resume, takeDecisions } from './resumption.ts'

export interface DecidingOptions {
  readonly approvals: Approvals
  readonly enqueue: (draft: Draft, job: Job) => Promise<unknown>
  /**
   * Describes the run that continues a waiting one; undefined when decisions alone cannot continue it, as it waits for its client, too.
   *
   * @throws HostError when its agent or history is gone, or cannot be read
   */
  readonly makeNextRun: (runId: string, answers: readonly PendingAnswer[]) => Promise<NextRun | undefined>
  readonly log: Log
}

/** Approvals of a run after a decision. */
export interface DecidedApprovals {
  readonly approvals: readonly StoredApproval[]
  /** Id of the run that continues; null while something else is open. */
  readonly continuedBy: string | null
}

/** Number of attempts at decisions that others may prevent by being quicker. */
const MAX_ATTEMPTS = 10

/** Decides calls of waiting runs. The last decision is committed together with the run that goes on; one that is refused is not taken. */
export class Deciding {
  readonly #options: DecidingOptions

  constructor(options: DecidingOptions) {
    this.#options = options
  }

  /**
   * Decides calls of one run. Of several deciders one wins.
   *
   * @throws HostError as {@link takeDecisions}; `OVERLOADED`, `SHUTTING_DOWN`, `AGENT_NOT_FOUND`, `RECORD_UNREADABLE`,
   *   `STORE_UNAVAILABLE`: then they stay open
   */
  async decide(decisions: Decisions, by: string): Promise<DecidedApprovals> {
    const { approvals, log } = this.#options
    const [first = ''] = decisions.keys()
    const { runId } = await approvals.get(first)
    const decided = await this.#settle(runId, decisions, by)
    for (const { id, status, pending, agent } of decided.approvals) {
      if (decisions.has(id)) log.info(`${agent}  ${by} ${status} ${pending.name} (${id})`)
    }
    return decided
  }

  /**
   * Closes the approvals of the run of this one that were not decided in time, and goes on with it if it waits for nothing else.
   *
   * @throws HostError as {@link Deciding.decide}
   */
  async expire(id: string): Promise<void> {
    const { runId } = await this.#options.approvals.get(id)
    await this.#settle(runId, new Map(), '')
  }

  async #settle(runId: string, decisions: Decisions, by: string): Promise<DecidedApprovals> {
    const { approvals } = this.#options
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const before = await approvals.ofRun(runId)
      const after = takeDecisions(before, decisions, by)
      const continuedBy = await this.#commit(runId, before, after)
      if (continuedBy !== undefined) return { approvals: after, continuedBy }
    }
    throw new HostError('RESPONSE_CONFLICT', 'The approvals of the run change all the time')
  }

  /** @returns null for decisions that continue nothing; undefined when another was quicker */
  async #commit(
    runId: string,
    before: readonly StoredApproval[],
    after: readonly StoredApproval[],
  ): Promise<string | null | undefined> {
    const { approvals, enqueue, makeNextRun } = this.#options
    // A decision came before the expiry, and its run continues.
    if (after.every((approval, index) => approval === before[index])) return null
    const next = isDecided(after) ? await makeNextRun(runId, answersOf(after)) : undefined
    if (!next) return (await approvals.commit(claimOf(before, after))) ? null : undefined
    const { draft, job } = next
    const { claim, resumes } = resume(before, after, draft.id)
    try {
      await enqueue({ ...draft, claim: joinClaims(claim, draft.claim), resumes }, job)
      return draft.id
    } catch (error) {
      if (error instanceof RequestRepeated) return undefined
      throw error
    }
  }
}
