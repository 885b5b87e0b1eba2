import type { Prices } from '../prices/prices.ts'
import type { AgentEvent } from '../run/calls/agent-events.ts'
import { RunBuilder } from '../trace/run-index/run-summary.ts'

/** Tokens of a run and what they cost. */
export interface UsageOfRun {
  readonly agentVersion: string | null
  readonly inputTokens: number
  readonly outputTokens: number
  /** US dollars; null where the price of a model is unknown. */
  readonly cost: number | null
}

/** Counts the tokens of runs from their events: those of the runs that they began included, each model's once. */
export class RunUsage {
  readonly #prices: Prices
  readonly #runs = new Map<string, RunBuilder>()

  constructor(prices: Prices) {
    this.#prices = prices
  }

  readonly add = (event: AgentEvent): void => {
    const { run_id: runId, parent_run_id: parent } = event
    if (runId === null) return
    let builder = this.#runs.get(runId)
    if (!builder) {
      builder = (parent === null ? undefined : this.#runs.get(parent)) ?? RunBuilder.begin(runId, event)
      this.#runs.set(runId, builder)
    }
    builder.add(event)
  }

  /** Returns the usage of a run that has ended, and forgets it with those that it began. */
  take(runId: string): UsageOfRun {
    const builder = this.#runs.get(runId)
    for (const [id, other] of this.#runs) if (other === builder) this.#runs.delete(id)
    const { models = [], agent_version: agentVersion = null } = builder?.summary ?? {}
    return {
      agentVersion,
      inputTokens: models.reduce((sum, { input_tokens: count }) => sum + count, 0),
      outputTokens: models.reduce((sum, { output_tokens: count }) => sum + count, 0),
      cost: models.length === 0 ? 0 : this.#prices.costOf(models),
    }
  }
}
