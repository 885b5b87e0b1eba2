import { useState } from 'preact/hooks'
import { useQuery } from './api.ts'
import { useLive, useThrottled } from './live.ts'
import { NUMBER_FIELDS, type Numbers } from './types.ts'

/** Numbers of an agent in the last 24 hours. */
export interface DayNumbers {
  readonly numbers: Numbers
  /** Runs by hour, oldest first. */
  readonly counts: readonly number[]
}

interface QueryData {
  readonly metrics: { readonly agents: readonly (DayNumbers & { readonly agent_id: string })[] }
}

const DAY = 86_400
const QUERY = `query($since: Float, $id: String) { metrics(since: $since, points: 24, agent_id: $id) {
  agents { agent_id counts numbers { ${NUMBER_FIELDS} } }
} }`

/**
 * Reads the figures of agents, and reads them again as runs end. Agents without runs have none.
 *
 * @param agentId of one agent; all when left out
 */
export function useDayNumbers(agentId?: string): ReadonlyMap<string, DayNumbers> {
  const [since, setSince] = useState(dayAgo)
  const refresh = useThrottled(() => setSince(dayAgo()), 1000)
  useLive('runs', refresh)
  useLive('ready', refresh)
  const { data } = useQuery<QueryData>(QUERY, { since, id: agentId ?? null })
  return new Map(data?.metrics.agents.map((agent) => [agent.agent_id, agent]))
}

function dayAgo(): number {
  return Math.floor(Date.now() / 1000) - DAY
}
