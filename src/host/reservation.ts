import { requireGiven } from '../given.ts'
import type { Agent } from '../run/agent/agent.ts'
import { CHANGES, TURN } from '../run/checks/given-turn.ts'
import type { RunQuota } from '../run/state/run-quota.ts'
import type { RunHandle, Turn } from '../run/turn.ts'
import type { VariantChange } from '../wire/variant.ts'
import type { FoundAgent } from './registered-agents.ts'
import type { Slot } from './running-runs.ts'

/** Slot and version of an agent that are kept for one run. Everything that may refuse its start has been checked. */
export interface Reservation {
  /**
   * Keeps a variant of the agent instead; nothing for undefined. Must be called before the others, with the variant of the turn.
   *
   * @throws as {@link AgentHost.openVariant}
   */
  vary(variant: Turn['variant']): Promise<void>
  /** @throws HostError `REQUEST_INVALID` for a turn that the agent does not accept; `AGENT_NOT_FOUND` for answers to a child run whose agent is gone */
  check(turn: Turn): void
  /**
   * Starts the run.
   *
   * @throws HostError `REQUEST_INVALID` as {@link Reservation.check}; the slot is given up then
   */
  start(turn: Turn): RunHandle
  /**
   * @param quota place of a run in the background that a sender with limits was given before
   * @internal
   */
  start(turn: Turn, quota: RunQuota | undefined): RunHandle
  /** Gives slot and version up, unless the run has begun. */
  release(): void
}

/** Parts of the host that a reservation uses. */
interface Host {
  openVariant(changes: readonly VariantChange[]): Promise<Agent>
  checkChildren(turn: Turn): void
  /** Place of the run, where its sender has limits. */
  readonly quota: RunQuota | undefined
}

/** Keeps the present version of an agent on a slot. */
export function reserveAgent(
  found: FoundAgent,
  slot: Slot,
  { openVariant, checkChildren, quota: taken }: Host,
): Reservation {
  let { agent, entryPoint } = found
  let unpin = agent.pin()
  let hasBegun = false
  const release = () => {
    slot.release()
    unpin()
    if (!hasBegun) taken?.giveBack()
  }
  return {
    vary: async (variant) => {
      if (!variant) return
      requireGiven(CHANGES, variant, 'variant')
      agent = await openVariant(variant)
      unpin()
      unpin = agent.pin()
    },
    check: (turn) => {
      requireGiven(TURN, turn, 'turn')
      agent.check(entryPoint, turn)
      checkChildren(turn)
    },
    start: (turn: Turn, quota: RunQuota | undefined = taken) => {
      try {
        requireGiven(TURN, turn, 'turn')
        const handle = slot.begin((observer) => agent.start(entryPoint, turn, observer), quota)
        hasBegun = true
        return handle
      } finally {
        release()
      }
    },
    release,
  }
}
