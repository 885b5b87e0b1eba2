import { Status } from '../components/status.tsx'
import { excerpt, formatCost, formatCount, formatDuration, formatTime, plural } from '../format.ts'
import { go, href } from '../router.ts'
import type { RunSummary } from '../types.ts'
import { currentQuery } from './run-filter.ts'

interface RunRowProps {
  readonly run: RunSummary
  readonly index: number
  /** Of all runs that match. */
  readonly count: number
  readonly isSelected: boolean
  /** Shows the server that ran it. */
  readonly hasServer: boolean
}

/** One run: a link to its page. */
export function RunRow({ run, index, count, isSelected, hasServer }: RunRowProps) {
  const remember = () => go(href(['runs'], { ...currentQuery(), run: run.run_id }), { replace: true })
  return (
    <div role="listitem" class="run-item" aria-setsize={count} aria-posinset={index + 1}>
      <a
        class="run-row"
        href={href(['runs', run.run_id])}
        data-index={index}
        data-selected={isSelected}
        onClick={remember}
      >
        <span>
          <Status status={run.status} incomplete={run.incomplete} />
        </span>
        <span class="run-agent">
          {run.agent_id}
          {run.entry_point !== '__entry__' && <span class="muted">/{run.entry_point}</span>}
          {hasServer && <span class="run-server muted">{run.server}</span>}
        </span>
        <Said run={run} />
        <span class="run-number">
          {formatDuration(run.duration_ms)}
          {run.errors > 0 && run.status !== 'cancelled' && <span class="bad-text">{plural(run.errors, 'error')}</span>}
        </span>
        <span class="run-number muted">
          {run.input_tokens + run.output_tokens > 0 && formatCount(run.input_tokens + run.output_tokens)}
        </span>
        <span class="run-number muted">{formatCost(run.cost)}</span>
        <time class="run-time muted" dateTime={new Date(run.started_at * 1000).toISOString()}>
          {formatTime(run.started_at)}
        </time>
      </a>
    </div>
  )
}

/** Question, and below it the answer or the error. A stopped run has no error. */
function Said({ run: { input, output, error, status, continues } }: { run: RunSummary }) {
  const isFailed = error !== null && (status === 'failed' || status === 'interrupted')
  return (
    <span class="run-text">
      <span class="run-input">
        {continues !== null && <span class="muted">↳ continues: </span>}
        {input || <span class="muted">–</span>}
      </span>
      <span class={`run-output ${isFailed ? 'bad-text' : 'muted'}`}>{isFailed ? error : excerpt(output)}</span>
    </span>
  )
}
