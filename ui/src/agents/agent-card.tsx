import { Fragment } from 'preact'
import { DayFigures } from '../components/day-figures.tsx'
import { Status } from '../components/status.tsx'
import { formatAgo } from '../format.ts'
import { href } from '../router.ts'
import { AgentMarks } from './agent-marks.tsx'
import type { AgentList, AgentSummary } from './agents-query.ts'
import { Health } from './health.tsx'

interface AgentCardProps {
  readonly agent: AgentSummary
  readonly list: AgentList
}

/** Card of an agent: its description, entry points and health. */
export function AgentCard({ agent, list }: AgentCardProps) {
  const { id, title, description, entry_points: entryPoints, modules } = agent
  const known = list.numbers.get(id)
  return (
    <li class="card">
      <div class="card-head">
        <h2>
          <a class="card-link" href={href(['agents', id])}>
            {title ?? id}
          </a>
        </h2>
        <Health agent={agent} list={list} />
      </div>
      <p class="card-text">{description || <span class="muted">No description</span>}</p>
      <p class="card-entries">
        {(title || entryPoints.length > 0) && <code title="Name of the model that clients ask for">{id}</code>}
        {entryPoints.map((name) => (
          <code key={name}>
            {id}/{name}
          </code>
        ))}
      </p>
      <AgentMarks modules={modules} />
      <Calls agent={agent} agents={list.agents} />
      {known ? <DayFigures {...known} /> : <p class="card-quiet muted">No runs in the last 24 hours</p>}
      <CardFoot agent={agent} />
    </li>
  )
}

/** The agents that it calls, and those that call it. */
export function Calls({ agent: { id, calls }, agents }: { agent: AgentSummary; agents: readonly AgentSummary[] }) {
  const called = [...new Set(calls.map(({ agent }) => agent))]
  const callers = agents.filter((other) => other.calls.some(({ agent }) => agent === id)).map((other) => other.id)
  if (called.length + callers.length === 0) return null
  return (
    <p class="card-calls muted">
      <CallsLine words="calls" ids={called} />
      <CallsLine words="called by" ids={callers} />
    </p>
  )
}

function CallsLine({ words, ids }: { words: string; ids: readonly string[] }) {
  if (ids.length === 0) return null
  return (
    <span>
      {words}{' '}
      {ids.map((each, index) => (
        <Fragment key={each}>
          {index > 0 && ', '}
          <a href={href(['agents', each])}>{each}</a>
        </Fragment>
      ))}
    </span>
  )
}

function CardFoot({ agent: { id, latest_run: latest } }: { agent: AgentSummary }) {
  return (
    <p class="card-foot">
      {latest ? (
        <>
          {/* That it went well is seen above, from all of them. */}
          {latest.status === 'completed' && latest.incomplete === null ? (
            <span class="muted">Last run</span>
          ) : (
            <Status status={latest.status} incomplete={latest.incomplete} />
          )}
          <a href={href(['runs', latest.run_id])}>{formatAgo(latest.started_at)}</a>
        </>
      ) : (
        <span class="muted">Not run yet</span>
      )}
      <span class="card-actions">
        <a href={href(['play', id])}>Try it</a>
        <a href={href(['runs'], { agent: id })}>Runs</a>
      </span>
    </p>
  )
}
