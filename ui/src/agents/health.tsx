import type { AgentList, AgentSummary } from './agents-query.ts'

/** Share of runs that may fail before an agent is called failing. */
const FAILING = 0.5

interface HealthProps {
  readonly agent: AgentSummary
  readonly list: AgentList
}

/** Health of an agent in one word, from its file and then its runs. */
export function Health({ agent: { id, file }, list: { problems, numbers } }: HealthProps) {
  if (file !== null && problems.some((problem) => problem.file === file)) {
    return <span class="badge bad">last good version</span>
  }
  const runs = numbers.get(id)?.numbers
  if (!runs || runs.count === 0) return <span class="badge">ready</span>
  if (runs.errors === 0) return <span class="badge good">healthy</span>
  const isFailing = runs.errors / runs.count >= FAILING
  return <span class={`badge ${isFailing ? 'bad' : 'warn'}`}>{isFailing ? 'failing' : 'some errors'}</span>
}
