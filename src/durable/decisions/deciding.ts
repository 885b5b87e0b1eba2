import type { Log } from '../../protocols/log.ts'
import { nameAsker } from '../../wire/name-asker.ts'
import { type Approvals, claimOf } from '../approvals/approvals.ts'
import type { StoredApproval } from '../approvals/stored-approval.ts'
import type { DecidedCalls } from '../continuation/after-decisions.ts'
import { type Decisions, isDecided, takeDecisions } from './resumption.ts'
import { untilClaimed } from './until-claimed.ts'

export interface DecidingOptions {
  readonly approvals: Approvals
  /**
   * Goes on with a run that waits for nothing else, in one commit with the decisions.
   *
   * @returns the id of the run that continues; null where it waits for its client, too
   * @throws RequestRepeated when another was quicker; HostError when its agent or history is gone, or cannot be read
   */
  readonly goOn: (decided: DecidedCalls) => Promise<string | null>
  readonly log: Log
}

/** Approvals of a run after a decision. */
export interface DecidedApprovals {
  readonly approvals: readonly StoredApproval[]
  /** Id of the run that continues; null while something else is open. */
  readonly continuedBy: string | null
}

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
      if (decisions.has(id))
        log.info(`${nameAsker(pending.asker ?? { agent, askedBy: [] })}  ${by} ${status} ${pending.name} (${id})`)
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
    const { approvals, goOn } = this.#options
    return untilClaimed(async () => {
      const before = await approvals.ofRun(runId)
      const after = takeDecisions(before, decisions, by)
      // A decision came before the expiry, and its run continues.
      if (after.every((approval, index) => approval === before[index])) return { approvals: after, continuedBy: null }
      const continuedBy = isDecided(after) ? await goOn({ runId, approvals: before, decisions, by }) : null
      const isTaken = continuedBy !== null || (await approvals.commit(claimOf(before, after)))
      return isTaken ? { approvals: after, continuedBy } : undefined
    }, 'The approvals of the run change')
  }
}
