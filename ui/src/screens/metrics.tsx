import { useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import type { ScreenProps } from '../app.tsx'
import { Chart } from '../components/chart.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { formatCount, formatDuration, formatPercent, participantName } from '../format.ts'
import { useLive, useThrottled } from '../live.ts'
import { go, href } from '../router.ts'
import { NUMBER_FIELDS, type Numbers } from '../types.ts'
import { Figure } from './overview.tsx'
import { Choice } from './runs.tsx'

interface Answer {
  readonly metrics: {
    readonly bucket_seconds: number
    readonly total: Numbers
    readonly points: readonly { readonly time: number; readonly numbers: Numbers }[]
    readonly agents: readonly { readonly agent_id: string; readonly numbers: Numbers }[]
    readonly modules: readonly { readonly agent_id: string; readonly module_id: string; readonly numbers: Numbers }[]
  }
}

const QUERY = `query($since: Float, $until: Float, $agent: String, $module: String) {
  metrics(since: $since, until: $until, points: 60, agent_id: $agent, module_id: $module) {
    bucket_seconds total { ${NUMBER_FIELDS} } points { time numbers { ${NUMBER_FIELDS} } }
    agents { agent_id numbers { ${NUMBER_FIELDS} } } modules { agent_id module_id numbers { ${NUMBER_FIELDS} } }
  }
}`

const RANGES: Readonly<Record<string, { title: string; seconds: number }>> = {
  '15m': { title: '15 min', seconds: 900 },
  '1h': { title: '1 h', seconds: 3600 },
  '24h': { title: '24 h', seconds: 86_400 },
  '7d': { title: '7 d', seconds: 604_800 },
}
const DEFAULT_RANGE = '1h'

export function MetricsScreen({ route, server }: ScreenProps) {
  const { query } = route
  const range = RANGES[query.range ?? ''] ? (query.range as string) : DEFAULT_RANGE
  const seconds = RANGES[range]?.seconds ?? 3600
  const [now, setNow] = useState(() => Date.now() / 1000)
  const refresh = useThrottled(() => setNow(Date.now() / 1000), 2000)
  useLive('runs', refresh)
  useLive('ready', refresh)
  const { agent = '', module = '' } = query
  const variables = { since: now - seconds, until: now + 1, agent: agent || null, module: module || null }
  const { data, error } = useQuery<Answer>(QUERY, variables)
  const change = (changed: Record<string, string>) => go(href(['metrics'], { ...query, ...changed }), { replace: true })
  if (server && !server.tracing.is_on) return <Empty isPage title="There are no metrics without traces" />
  if (!data)
    return error ? (
      <Notice kind="bad" title="The metrics could not be read">
        {error}
      </Notice>
    ) : null
  const { total, points, agents, modules, bucket_seconds: bucket } = data.metrics
  const open = (index: number) => {
    const time = points[index]?.time
    if (time !== undefined) go(href(['runs'], { agent, module, since: String(time), until: String(time + bucket) }))
  }
  const times = points.map(({ time }) => time)
  const series = (read: (numbers: Numbers) => number | null) => points.map(({ numbers }) => read(numbers))
  const what = module ? 'Calls' : 'Runs'
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Metrics</h1>
        <fieldset class="segmented">
          <legend class="hidden">Time</legend>
          {Object.entries(RANGES).map(([name, { title }]) => (
            <button key={name} type="button" aria-pressed={name === range} onClick={() => change({ range: name })}>
              {title}
            </button>
          ))}
        </fieldset>
        <Choice
          name="Agent"
          value={agent}
          options={agents.map(({ agent_id }) => agent_id)}
          onChange={(id) => change({ agent: id, module: '' })}
        />
        <Choice
          name="Module"
          value={module}
          options={[...new Set(modules.map(({ module_id }) => module_id))]}
          onChange={(id) => change({ module: id })}
        />
      </div>
      <dl class="figures wide panel">
        <Figure name={what} value={formatCount(total.count)} />
        <Figure
          name="Errors"
          value={total.count === 0 ? '–' : formatPercent(total.errors / total.count)}
          isBad={total.errors > 0}
        />
        <Figure name="p50" value={formatDuration(total.p50_ms)} />
        <Figure name="p95" value={formatDuration(total.p95_ms)} />
        <Figure name="First text" value={formatDuration(total.first_text_p50_ms)} />
        <Figure name="Tokens in" value={formatCount(total.input_tokens)} />
        <Figure name="Tokens out" value={formatCount(total.output_tokens)} />
      </dl>
      {total.count === 0 ? (
        <Empty title="Nothing happened in this time">
          Choose a longer time, or <a href={href(['play'])}>ask an agent</a>.
        </Empty>
      ) : (
        <div class="charts">
          <Chart
            title={`${what} and errors`}
            times={times}
            isBars
            onPoint={open}
            series={[
              { name: what, values: series(({ count }) => count), color: 'accent' },
              { name: 'Errors', values: series(({ errors }) => errors), color: 'bad' },
            ]}
            format={formatCount}
          />
          <Chart
            title="Duration"
            times={times}
            onPoint={open}
            series={[
              { name: 'p50', values: series(({ p50_ms }) => p50_ms), color: 'accent' },
              { name: 'p95', values: series(({ p95_ms }) => p95_ms), color: 'warn' },
            ]}
            format={formatDuration}
          />
          <Chart
            title="Time to first text (median)"
            times={times}
            onPoint={open}
            series={[
              { name: 'First text', values: series(({ first_text_p50_ms }) => first_text_p50_ms), color: 'accent' },
            ]}
            format={formatDuration}
          />
          <Chart
            title="Tokens"
            times={times}
            isBars
            onPoint={open}
            series={[
              { name: 'In', values: series(({ input_tokens }) => input_tokens), color: 'accent' },
              { name: 'Out', values: series(({ output_tokens }) => output_tokens), color: 'warn' },
            ]}
            format={formatCount}
          />
        </div>
      )}
      <Table
        title="By agent"
        first="Agent"
        what="Runs"
        rows={agents.map(({ agent_id, numbers }) => ({
          name: agent_id,
          link: href(['runs'], { agent: agent_id }),
          numbers,
        }))}
      />
      <Table
        title="By module"
        first="Module"
        what="Calls"
        rows={modules.map(({ agent_id, module_id, numbers }) => ({
          name: `${participantName(module_id)} · ${agent_id}`,
          link: href(['metrics'], { range, agent: agent_id, module: module_id }),
          numbers,
        }))}
      />
    </div>
  )
}

interface TableProps {
  readonly title: string
  readonly first: string
  readonly what: string
  readonly rows: readonly { readonly name: string; readonly link: string; readonly numbers: Numbers }[]
}

function Table({ title, first, what, rows }: TableProps) {
  if (rows.length === 0) return null
  const sorted = [...rows].sort((a, b) => b.numbers.count - a.numbers.count)
  return (
    <section class="panel">
      <h2>{title}</h2>
      <div class="table-scroll" tabIndex={0} role="group" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{first}</th>
              {[what, 'Errors', 'p50', 'p95', 'Tokens in', 'Tokens out'].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map(({ name, link, numbers }) => (
              <tr key={name}>
                <th scope="row">
                  <a href={link}>{name}</a>
                </th>
                <td class="number">{formatCount(numbers.count)}</td>
                <td class={`number ${numbers.errors > 0 ? 'bad-text' : ''}`}>{formatCount(numbers.errors)}</td>
                <td class="number">{formatDuration(numbers.p50_ms)}</td>
                <td class="number">{formatDuration(numbers.p95_ms)}</td>
                <td class="number">{formatCount(numbers.input_tokens)}</td>
                <td class="number">{formatCount(numbers.output_tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
