import { raceAbort, settlesWithin } from '../async.ts'
import { badRequest } from '../errors.ts'
import { Agent, type AgentSurroundings } from '../run/agent/agent.ts'
import type { Turn } from '../run/turn.ts'
import { ownChanges } from '../variants/called-changes.ts'
import { OpenVariants } from '../variants/open-variants.ts'
import { planVariant } from '../variants/plan-variant.ts'
import type { VariantChange } from '../wire/variant.ts'
import type { AgentBlueprint, Project } from '../wiring/plan-agent.ts'

/**
 * Time that agents get to dispose their modules after the last run was aborted: one that never ends must not hold up
 * the rest.
 */
const DISPOSE_TIMEOUT_MS = 1000

/** Versions of agents and their variants, from the moment they are opened until no run uses them any more. */
export class AgentVersions {
  readonly #project: Project
  readonly #surroundings: () => AgentSurroundings
  readonly #closings = new Set<Promise<void>>()
  readonly #variants = new OpenVariants<Agent>(
    async (base, changes) => Agent.open(planVariant(base.varied, changes, this.#project), this.#surroundings(), base),
    (agent) => this.retire(agent),
  )

  constructor(project: Project, surroundings: () => AgentSurroundings) {
    this.#project = project
    this.#surroundings = surroundings
  }

  /**
   * Opens a version of an agent. One that is no longer awaited is closed once it is open.
   *
   * @param own parts that differ from those of other agents
   * @throws AgentError `AGENT_INVALID`
   */
  async open(
    blueprint: AgentBlueprint,
    signal: AbortSignal | undefined,
    own: Partial<AgentSurroundings> = {},
  ): Promise<Agent> {
    const opening = Agent.open(blueprint, { ...this.#surroundings(), ...own })
    try {
      return await raceAbort(opening, signal)
    } catch (error) {
      if (signal?.aborted)
        opening.then(
          (agent) => void this.retire(agent),
          () => {},
        )
      throw error
    }
  }

  /**
   * Opens a variant of the version in service by then: both are looked up in one step.
   *
   * @param findBase finds that version
   * @throws AgentError `AGENT_INVALID`
   */
  async openVariant(findBase: () => Agent, changes: readonly VariantChange[]): Promise<Agent> {
    const own = ownChanges(changes)
    for (;;) {
      const base = findBase()
      if (own.length === 0) return base
      const variant = await this.#variants.open(base, own)
      if (this.#variants.find(base, own) === variant) return variant
    }
  }

  /**
   * Returns the agent that a turn is for: the variant that it names, or the base.
   *
   * @throws HostError `REQUEST_INVALID` for a variant that is not open
   */
  variantOf(base: Agent, { variant }: Turn): Agent {
    const own = variant ? ownChanges(variant) : []
    const found = own.length > 0 ? this.#variants.find(base, own) : base
    if (found) return found
    throw badRequest(`The variant of agent '${base.info.id}' is not open.`, {
      suggestions: ['Call host.openVariant first. If the agent changed meanwhile, send the request again.'],
    })
  }

  /** Closes an agent and its variants once their runs have ended. */
  retire(agent: Agent): Promise<void> {
    this.#variants.closeOf(agent)
    const closing = agent.close().finally(() => this.#closings.delete(closing))
    this.#closings.add(closing)
    return closing
  }

  /** Waits a moment until the retired agents have closed. */
  async settle(): Promise<void> {
    await settlesWithin(Promise.all(this.#closings), DISPOSE_TIMEOUT_MS)
  }
}
