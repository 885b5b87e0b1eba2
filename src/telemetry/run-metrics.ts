import type { Counter, Histogram, Registry } from 'prom-client'
import { getOrAdd } from '../get-or-add.ts'
import type { AgentHost } from '../host/host.ts'
import type { Usage } from '../protocols/run.ts'
import { endingOf } from '../run/run-ending.ts'
import type { RunEnd } from '../run/turn.ts'

const KINDS: readonly (readonly [keyof Usage, string])[] = [
  ['inputTokens', 'input'],
  ['outputTokens', 'output'],
  ['cachedInputTokens', 'cached_input'],
  ['reasoningTokens', 'reasoning'],
]
/** Seconds: from an agent that only looks something up to one that works for minutes. */
const DURATIONS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
/** Series of one agent: modules give any text as the reason of an incomplete answer. */
const MAX_SERIES = 100

/** Counts the runs that have ended, by agent. */
export class RunMetrics {
  readonly #host: AgentHost
  readonly #runs: Counter<'agent' | 'status' | 'incomplete'>
  readonly #durations: Histogram<'agent'>
  readonly #tokens: Counter<'agent' | 'kind'>
  /** Labels of the ended runs of each agent, by their text. */
  readonly #agents = new Map<string, Map<string, Readonly<Record<string, string>>>>()

  constructor({ Counter, Histogram }: typeof import('prom-client'), registry: Registry, host: AgentHost) {
    const registers = [registry]
    this.#host = host
    this.#runs = new Counter({
      name: 'agent_host_runs_total',
      help: 'Ended runs.',
      labelNames: ['agent', 'status', 'incomplete'],
      registers,
    })
    this.#durations = new Histogram({
      name: 'agent_host_run_duration_seconds',
      help: 'Duration of runs, whatever their status.',
      labelNames: ['agent'],
      buckets: DURATIONS,
      registers,
    })
    this.#tokens = new Counter({
      name: 'agent_host_tokens_total',
      help: 'Input and output tokens of models, as modules report them.',
      labelNames: ['agent', 'kind'],
      registers,
    })
  }

  add(end: RunEnd): void {
    const { agentId: agent, durationMs, usage } = end
    this.#runs.inc(this.#labelsOf(end))
    this.#durations.observe({ agent }, durationMs / 1000)
    // Those of a run that another began are among those of that one.
    if (end.parentRunId !== undefined) return
    for (const [name, kind] of KINDS) {
      const count = usage[name]
      if (count > 0) this.#tokens.inc({ agent, kind }, count)
    }
  }

  /** Ids of agents come and go: only registered agents have series. */
  forgetRemovedAgents(): void {
    for (const [agent, labels] of this.#agents) {
      if (this.#host.get(agent)) continue
      this.#agents.delete(agent)
      for (const each of labels.values()) this.#runs.remove(each)
      for (const [, kind] of KINDS) this.#tokens.remove({ agent, kind })
      this.#durations.remove({ agent })
    }
  }

  #labelsOf(end: RunEnd): Readonly<Record<string, string>> {
    const { agentId: agent, incompleteReason: given } = end
    const status = endingOf(end)
    const known = getOrAdd(this.#agents, agent, () => new Map<string, Readonly<Record<string, string>>>())
    const isTooMany = given !== undefined && known.size >= MAX_SERIES && !known.has(`${status} ${given}`)
    const incomplete = isTooMany ? 'other' : given
    return getOrAdd(known, `${status} ${incomplete ?? ''}`, () => ({
      agent,
      status,
      ...(incomplete === undefined ? {} : { incomplete }),
    }))
  }
}
