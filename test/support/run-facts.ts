import type { RunFacts } from '../../src/durable/runs/run-facts.ts'

/** Facts of a run of agent `agent`. */
export function makeFacts(more: Partial<RunFacts> = {}): RunFacts {
  const begun = { adapter: 'test', agent: 'agent', createdAt: 1_800_000_000, previousId: null }
  return { ...begun, options: {}, data: null, ...more }
}
