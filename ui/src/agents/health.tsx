import type { AgentList, AgentSummary } from './agents-query.ts'

/** Share of runs that may fail before an agent is called failing. */
const FAILING = 0.5

interface HealthProps {
  readonly agent: AgentSummary
  readonly list: AgentList
}

type State = 'last good version' | 'failing' | 'some failed' | 'healthy' | 'ready'

/** Kinds of badges by the state, the worst first. */
const BADGES: Readonly<Record<State, string>> = {
  'last good version': 'bad',
  failing: 'bad',
  'some failed': 'warn',
  healthy: 'good',
  ready: '',
}
const ORDER: readonly State[] = ['last good version', 'failing', 'some failed']

/** Health of an agent in one word, from its file and then its runs. */
export function Health({ agent, list }: HealthProps) {
  const state = stateOf(agent, list)
  return <span class={`badge ${BADGES[state]}`}>{state}</span>
}

/** Agents with problems first, the others in their order. */
export function byHealth(list: AgentList): AgentSummary[] {
  const rankOf = (agent: AgentSummary) => {
    const at = ORDER.indexOf(stateOf(agent, list))
    return at === -1 ? ORDER.length : at
  }
  return [...list.agents].sort((one, other) => rankOf(one) - rankOf(other))
}

function stateOf({ id, file }: AgentSummary, { problems, numbers }: AgentList): State {
  if (file !== null && problems.some((problem) => problem.file === file)) return 'last good version'
  const runs = numbers.get(id)?.numbers
  if (!runs || runs.count === 0) return 'ready'
  if (runs.errors === 0) return 'healthy'
  return runs.errors / runs.count >= FAILING ? 'failing' : 'some failed'
}
