import { Notice } from '../components/notice.tsx'
import { placeOf } from '../components/problem-text.tsx'
import { plural } from '../format.ts'
import { useListKeys } from '../keyboard.ts'
import { useMedia } from '../media.ts'
import type { ScreenProps } from '../screen.ts'
import type { Problem } from '../types.ts'
import { AgentCard } from './agent-card.tsx'
import { type AgentList, useAgents } from './agents-query.ts'
import { AgentsTable } from './agents-table.tsx'
import { ClientSnippets } from './client-snippets.tsx'
import { FirstAgent } from './first-agent.tsx'
import { byHealth } from './health.tsx'

/** From here on cards would be scrolled through, and rows are compared. */
const MIN_TABLE = 12

/** All registered agents, and problems of their files. */
export function AgentsScreen({ server }: ScreenProps) {
  const { list, error } = useAgents()
  useListKeys('.card-link, .agents-table th a')
  if (!list) return error ? <Notice kind="bad" title="The agents could not be read" children={error} /> : null
  const { agents, problems } = list
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Agents</h1>
        {agents.length > 0 && (
          <span class="muted">{plural(agents.length, 'agent')} in service · numbers of the last 24 hours</span>
        )}
      </div>
      <Problems problems={problems} />
      {agents.length === 0 ? <FirstAgent /> : <AgentsOf list={list} />}
      {agents.length > 0 && <ClientSnippets agents={agents} server={server} />}
    </div>
  )
}

function AgentsOf({ list }: { list: AgentList }) {
  const isNarrow = useMedia('(max-width: 760px)')
  if (list.agents.length >= MIN_TABLE && !isNarrow) return <AgentsTable list={list} />
  return (
    <ul class="cards">
      {byHealth(list).map((agent) => (
        <AgentCard key={agent.id} agent={agent} list={list} />
      ))}
    </ul>
  )
}

/** One line each, unfolding. */
function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null
  return (
    <section class="problems" aria-label="Files that are not served as they are">
      {problems.map((problem) => (
        <details key={placeOf(problem) + problem.message} class="notice bad problem">
          <summary>
            <strong>{placeOf(problem)}</strong> <span class="problem-line">{problem.message}</span>
          </summary>
          <p class="problem-text">{problem.message}</p>
          {problem.suggestions.map((suggestion) => (
            <p key={suggestion} class="problem-text muted">
              {suggestion}
            </p>
          ))}
        </details>
      ))}
    </section>
  )
}
