import { RecentlyUsed } from '../recently-used.ts'
import type { VariantChange } from '../wire/variant.ts'

type Changes = readonly VariantChange[]

/** Limits of what belongs to variants of agents: as many, and as large in JSON. */
export const VARIANT_LIMITS = { maxItems: 200, maxBytes: 16 * 1024 * 1024, maxIdleMs: 60 * 60 * 1000 }

/** Agent that is open. */
interface OpenAgent {
  readonly info: { readonly id: string }
  /** Has it stay open. @returns a function that ends this */
  pin(): () => void
}

interface Entry<Agent extends OpenAgent> {
  readonly base: Agent
  readonly opening: Promise<Agent>
  /** Once it is open. */
  agent: Agent | undefined
  /** Has the base stay open. */
  readonly unpin: () => void
  /** Of its changes. */
  readonly bytes: number
}

/** Variants of registered agents that are open: each once, for all its users. */
export class OpenVariants<Agent extends OpenAgent> {
  readonly #entries: RecentlyUsed<Entry<Agent>>
  readonly #plan: OpenVariants<Agent>['open']
  readonly #retire: (agent: Agent) => Promise<void>

  /**
   * @param plan opens the variant of an agent
   * @param retire closes a variant once no run uses it
   */
  constructor(plan: OpenVariants<Agent>['open'], retire: (agent: Agent) => Promise<void>) {
    this.#plan = plan
    this.#retire = retire
    this.#entries = new RecentlyUsed({
      ...VARIANT_LIMITS,
      bytesOf: ({ bytes }) => bytes,
      onForget: (entry) => void this.#close(entry),
    })
  }

  /**
   * Opens a variant, or finds the open one.
   *
   * @throws AgentError `AGENT_INVALID`
   */
  async open(base: Agent, changes: Changes): Promise<Agent> {
    const key = keyOf(base, changes)
    const known = this.#entries.get(key)
    if (known?.base === base) return known.opening
    // Of a version that was replaced.
    this.#entries.delete(key)
    const opening = this.#plan(base, changes)
    const entry: Entry<Agent> = { base, opening, agent: undefined, unpin: base.pin(), bytes: key.length }
    this.#entries.set(key, entry)
    try {
      entry.agent = await entry.opening
      return entry.agent
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
      throw error
    }
  }

  /** Returns a variant that is open. */
  find(base: Agent, changes: Changes): Agent | undefined {
    const entry = this.#entries.get(keyOf(base, changes))
    return entry?.base === base ? entry.agent : undefined
  }

  /** Closes the variants of an agent that is taken out of service. */
  closeOf(base: Agent): void {
    for (const [key, entry] of this.#entries) if (entry.base === base) this.#entries.delete(key)
  }

  async #close({ opening, unpin }: Entry<Agent>): Promise<void> {
    const agent = await opening.catch(() => undefined)
    if (agent) await this.#retire(agent)
    unpin()
  }
}

function keyOf({ info: { id } }: OpenAgent, changes: Changes): string {
  return `${id} ${JSON.stringify(changes)}`
}
