import { useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { useLive, useThrottled } from '../live.ts'
import { NUMBER_FIELDS, type Numbers, PROBLEM_FIELDS, type Problem, type RunStatus } from '../types.ts'

/** Agent as the list of agents shows it. */
export interface AgentSummary {
  readonly id: string
  readonly title: string | null
  readonly description: string
  readonly file: string | null
  readonly entry_points: readonly string[]
  readonly modules: readonly {
    readonly id: string
    readonly module: string
    readonly model: string | null
    readonly provides: readonly string[] | null
  }[]
  readonly latest_run: { readonly run_id: string; readonly status: RunStatus; readonly started_at: number } | null
}

/** Numbers of an agent in the last 24 hours. */
export interface AgentNumbers {
  readonly numbers: Numbers
  /** Runs by hour, oldest first. */
  readonly counts: readonly number[]
}

export interface AgentList {
  readonly agents: readonly AgentSummary[]
  readonly problems: readonly Problem[]
  /** By agent id; none for an agent without runs. */
  readonly numbers: ReadonlyMap<string, AgentNumbers>
}

const QUERY = `{
  list_agents { id title description file entry_points modules { id module model provides }
    latest_run { run_id status started_at } }
  problems { ${PROBLEM_FIELDS} }
}`
const DAY = 86_400
const METRICS_QUERY = `query($since: Float) { metrics(since: $since, points: 24) { agents { agent_id counts numbers { ${NUMBER_FIELDS} } } } }`

interface Answer {
  readonly list_agents: readonly AgentSummary[]
  readonly problems: readonly Problem[]
}

interface MetricsAnswer {
  readonly metrics: { readonly agents: readonly (AgentNumbers & { readonly agent_id: string })[] }
}

/** Reads the agents with their numbers, and reads them again when files change and runs end. */
export function useAgents(): { readonly list: AgentList | undefined; readonly error: string | undefined } {
  const { data, error, reload } = useQuery<Answer>(QUERY)
  const [since, setSince] = useState(dayAgo)
  const metrics = useQuery<MetricsAnswer>(METRICS_QUERY, { since })
  const refresh = useThrottled(() => {
    reload()
    setSince(dayAgo())
  }, 1000)
  useLive('agents', reload)
  useLive('runs', refresh)
  useLive('ready', refresh)
  const numbers = new Map(metrics.data?.metrics.agents.map((agent) => [agent.agent_id, agent]))
  return { list: data && { agents: data.list_agents, problems: data.problems, numbers }, error }
}

function dayAgo(): number {
  return Math.floor(Date.now() / 1000) - DAY
}
