import { formatDuration } from '../../../src/wire/format-duration.ts'
import { formatCost, formatCount, formatPercent, formatTime, shortVersion } from '../format.ts'
import { href } from '../router.ts'
import type { Numbers } from '../types.ts'
import type { VersionNumbers } from './metrics-query.ts'

interface VersionsTableProps {
  readonly versions: readonly VersionNumbers[]
  readonly range: string
}

interface Measure {
  readonly name: string
  /** Of one run, so that versions with few runs and with many compare. */
  readonly read: (numbers: Numbers) => number | null
  readonly format: (value: number) => string
}

const MEASURES: readonly Measure[] = [
  { name: 'Failed', read: ({ errors, count }) => errors / count, format: formatPercent },
  { name: 'p50', read: ({ p50_ms }) => p50_ms, format: formatDuration },
  { name: 'p95', read: ({ p95_ms }) => p95_ms, format: formatDuration },
  { name: 'First token', read: ({ first_text_p50_ms }) => first_text_p50_ms, format: formatDuration },
  {
    name: 'Tokens a run',
    read: ({ input_tokens, output_tokens, count }) => (input_tokens + output_tokens) / count,
    format: (tokens) => formatCount(Math.round(tokens)),
  },
  { name: 'Cost a run', read: ({ cost, count }) => (cost === null ? null : cost / count), format: formatCost },
]

/** Versions of an agent side by side, the newest first, each with its change from the one before. */
export function VersionsTable({ versions, range }: VersionsTableProps) {
  const rows = comparedVersions(versions)
  if (rows.length === 0) return null
  const measures = MEASURES.filter(({ read }) => versions.some(({ numbers }) => read(numbers)))
  return (
    <section class="panel">
      <h2>By version</h2>
      <div class="table-scroll" tabIndex={0} role="group" aria-label="By version">
        <table>
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">First run</th>
              <th scope="col" class="number">
                Runs
              </th>
              {measures.map(({ name }) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ version, before }) => (
              <VersionRow
                key={`${version.agent_id} ${version.agent_version}`}
                version={version}
                before={before}
                measures={measures}
                range={range}
              />
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted table-note">
        A version is the text of an agent file and of those that it names, or a variant of it. In brackets: the change
        from the version before, from {MIN_RUNS} runs of each on.
      </p>
    </section>
  )
}

/** Of fewer runs a change in percent says nothing. */
const MIN_RUNS = 20

interface VersionRowProps {
  readonly version: VersionNumbers
  readonly before: Numbers | undefined
  readonly measures: readonly Measure[]
  readonly range: string
}

function VersionRow({ version, before, measures, range }: VersionRowProps) {
  const { agent_id: agent, agent_version: id, first_at, numbers } = version
  const areMany = before !== undefined && Math.min(before.count, numbers.count) >= MIN_RUNS
  return (
    <tr>
      <th scope="row">
        <a href={href(['runs'], { agent, version: id, range })}>
          {agent} <code>{shortVersion(id)}</code>
        </a>
      </th>
      <td>{formatTime(first_at)}</td>
      <td class="number">{formatCount(numbers.count)}</td>
      {measures.map(({ name, read, format }) => {
        const value = read(numbers)
        return (
          <td key={name} class="number">
            {value === null ? '' : format(value)}
            <span class="muted">{formatChange(value, areMany ? read(before) : null)}</span>
          </td>
        )
      })}
    </tr>
  )
}

/** Versions of the agents that have several, each with the numbers of the one before. */
function comparedVersions(versions: readonly VersionNumbers[]) {
  const agents = [...new Set(versions.map(({ agent_id }) => agent_id))]
  return agents
    .map((agent) => versions.filter(({ agent_id }) => agent_id === agent))
    .filter(({ length }) => length > 1)
    .flatMap((own) => own.map((version, index) => ({ version, before: own[index - 1]?.numbers })).reverse())
}

/** ` (+20 %)`; empty where there is nothing to compare with. */
function formatChange(value: number | null, before: number | null): string {
  if (value === null || !before) return ''
  const change = Math.round((value / before - 1) * 100)
  return change === 0 ? '' : ` (${change > 0 ? '+' : '−'}${formatCount(Math.abs(change))} %)`
}
