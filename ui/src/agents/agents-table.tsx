import { formatDuration } from '../../../src/wire/format-duration.ts'
import { hasCourse, SparkLine } from '../components/spark-line.tsx'
import { formatAgo, formatCost, formatCount, formatPercent } from '../format.ts'
import { href } from '../router.ts'
import { Calls } from './agent-card.tsx'
import { AgentMarks } from './agent-marks.tsx'
import type { AgentList, AgentSummary } from './agents-query.ts'
import { byHealth, Health } from './health.tsx'

const COLUMNS = ['Agent', 'Models and tools', 'State'] as const
const NUMBERS = ['Runs', 'Failed', 'p95', 'Cost', 'Last run'] as const

/** Agents side by side, for projects with many. */
export function AgentsTable({ list }: { list: AgentList }) {
  const isDrawn = [...list.numbers.values()].some(({ counts }) => hasCourse(counts))
  return (
    <section class="panel table-scroll agents-table" tabIndex={0} aria-label="Agents">
      <table>
        <thead>
          <tr>
            {[...COLUMNS, ...(isDrawn ? ['By hour'] : [])].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            {NUMBERS.map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {byHealth(list).map((agent) => (
            <AgentRow key={agent.id} agent={agent} list={list} isDrawn={isDrawn} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface AgentRowProps {
  readonly agent: AgentSummary
  readonly list: AgentList
  /** The course of the runs has a column: not in the first hours. */
  readonly isDrawn: boolean
}

function AgentRow({ agent, list, isDrawn }: AgentRowProps) {
  const { id, title, description, modules, latest_run: latest } = agent
  const known = list.numbers.get(id)
  const { count = 0, errors = 0, p95_ms, cost } = known?.numbers ?? {}
  return (
    <tr>
      <th scope="row">
        <a href={href(['agents', id])}>{title ?? id}</a>
        <div class="muted row-text">{description}</div>
      </th>
      <td>
        <AgentMarks modules={modules} />
        <Calls agent={agent} agents={list.agents} />
      </td>
      <td>
        <Health agent={agent} list={list} />
      </td>
      {isDrawn && <td>{known && <SparkLine values={known.counts} label="Runs by hour, last 24 hours" />}</td>}
      <td class="number">
        {count > 0 ? <a href={href(['runs'], { agent: id, range: '24h' })}>{formatCount(count)}</a> : '–'}
      </td>
      <td class={`number ${errors > 0 ? 'bad-text' : ''}`}>{count > 0 ? formatPercent(errors / count) : '–'}</td>
      <td class="number">{formatDuration(p95_ms)}</td>
      <td class="number">{formatCost(cost)}</td>
      <td class="number">{latest && <a href={href(['runs', latest.run_id])}>{formatAgo(latest.started_at)}</a>}</td>
    </tr>
  )
}
