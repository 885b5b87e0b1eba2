import { useQuery } from '../api.ts'
import type { CallingAgent } from '../called-agents.ts'
import { type DayNumbers, useDayNumbers } from '../day-numbers.ts'
import { useLive, useThrottled } from '../live.ts'
import { PROBLEM_FIELDS, type Problem, type RunSummary } from '../types.ts'

/** Agent as the list of agents shows it. */
export interface AgentSummary extends CallingAgent {
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
  readonly latest_run: Pick<RunSummary, 'run_id' | 'status' | 'incomplete' | 'started_at'> | null
}

export interface AgentList {
  readonly agents: readonly AgentSummary[]
  readonly problems: readonly Problem[]
  /** By agent id; none for an agent without runs. */
  readonly numbers: ReadonlyMap<string, DayNumbers>
}

const QUERY = `{
  list_agents { id title description file entry_points calls { module agent } modules { id module model provides }
    latest_run { run_id status incomplete started_at } }
  problems { ${PROBLEM_FIELDS} }
}`

interface QueryData {
  readonly list_agents: readonly AgentSummary[]
  readonly problems: readonly Problem[]
}

/** Reads the agents with their numbers, and reads them again when files change and runs end. */
export function useAgents(): { readonly list: AgentList | undefined; readonly error: string | undefined } {
  const { data, error, reload } = useQuery<QueryData>(QUERY)
  const numbers = useDayNumbers()
  const refresh = useThrottled(reload, 1000)
  useLive('agents', reload)
  useLive('runs', refresh)
  useLive('ready', refresh)
  return { list: data && { agents: data.list_agents, problems: data.problems, numbers }, error }
}
