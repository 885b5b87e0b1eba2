import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Choice } from '../components/choice.tsx'
import { Figure } from '../components/figure.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { formatCost, formatCount, formatPercent } from '../format.ts'
import { go, href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { MetricsCharts } from './metrics-charts.tsx'
import { type Metrics, type MetricsSelection, RANGES, readSelection, useMetrics } from './metrics-query.ts'
import { MetricsTables } from './metrics-tables.tsx'

/** Numbers of all runs: over time, by agent, model, day and module. */
export function MetricsScreen({ route, server }: ScreenProps) {
  const selection = readSelection(route.query)
  const { metrics, error } = useMetrics(selection)
  if (server && !server.tracing.is_on) return <Empty isPage title="There are no metrics without traces" />
  if (!metrics) return error ? <Notice kind="bad" title="The metrics could not be read" children={error} /> : null
  const change = (changed: Partial<MetricsSelection>) =>
    go(href(['metrics'], { ...route.query, ...changed }), { replace: true })
  return (
    <div class="screen">
      <div class="screen-head">
        <h1>Metrics</h1>
        <Selection selection={selection} metrics={metrics} onChange={change} />
      </div>
      <Totals metrics={metrics} what={selection.module ? 'Calls' : 'Runs'} />
      {metrics.total.count === 0 ? (
        <Empty title="No runs in this period">
          Choose a longer time, or <a href={href(['play'])}>ask an agent</a>.
        </Empty>
      ) : (
        <MetricsCharts metrics={metrics} selection={selection} />
      )}
      <MetricsTables metrics={metrics} selection={selection} pricesDate={server?.prices_date ?? ''} />
    </div>
  )
}

interface SelectionProps {
  readonly selection: MetricsSelection
  readonly metrics: Metrics
  readonly onChange: (changed: Partial<MetricsSelection>) => void
}

function Selection({ selection: { range, agent, module }, metrics: { agents, modules }, onChange }: SelectionProps) {
  return (
    <>
      <fieldset class="segmented">
        <legend class="hidden">Time</legend>
        {Object.entries(RANGES).map(([name, { title }]) => (
          <button key={name} type="button" aria-pressed={name === range} onClick={() => onChange({ range: name })}>
            {title}
          </button>
        ))}
      </fieldset>
      <Choice
        name="Agent"
        value={agent}
        options={agents.map(({ agent_id }) => agent_id)}
        onChange={(id) => onChange({ agent: id, module: '' })}
      />
      <Choice
        name="Module"
        value={module}
        options={[...new Set(modules.map(({ module_id }) => module_id))]}
        onChange={(id) => onChange({ module: id })}
      />
    </>
  )
}

function Totals({ metrics: { total, tools }, what }: { metrics: Metrics; what: string }) {
  const failedTools = tools.reduce((sum, { numbers }) => sum + numbers.errors, 0)
  const rejected = tools.reduce((sum, { numbers }) => sum + numbers.rejected, 0)
  return (
    <dl class="figures wide panel">
      <Figure name={what} value={formatCount(total.count)} />
      <Figure
        name={what === 'Runs' ? 'Failed' : 'Errors'}
        value={total.count === 0 ? '–' : formatPercent(total.errors / total.count)}
        isBad={total.errors > 0}
      />
      {what === 'Runs' && failedTools > 0 && <Figure name="Failed tool calls" value={formatCount(failedTools)} />}
      {rejected > 0 && <Figure name="Rejected calls" value={formatCount(rejected)} />}
      {total.incomplete > 0 && <Figure name="Incomplete" value={formatCount(total.incomplete)} />}
      <Figure name="p50" value={formatDuration(total.p50_ms)} />
      <Figure name="p95" value={formatDuration(total.p95_ms)} />
      <Figure name="First token" value={formatDuration(total.first_text_p50_ms)} />
      <Figure name="Tokens in" value={formatCount(total.input_tokens)} />
      <Figure name="Tokens out" value={formatCount(total.output_tokens)} />
      {total.cost !== null && <Figure name="Cost" value={formatCost(total.cost)} />}
    </dl>
  )
}
