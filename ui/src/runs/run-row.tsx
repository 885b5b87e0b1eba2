import { Fragment } from 'preact'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Icon } from '../components/icon.tsx'
import { Status } from '../components/status.tsx'
import { excerpt, formatClock, formatCost, formatCount, formatDay, formatTime, plural } from '../format.ts'
import { go, href } from '../router.ts'
import type { RunSummary, RunTool } from '../types.ts'
import type { ChosenRuns } from './choose-runs.tsx'
import { currentQuery } from './run-filter.ts'

interface RunRowProps {
  readonly run: RunSummary
  readonly index: number
  /** Of all runs that match. */
  readonly count: number
  readonly isSelected: boolean
  /** Shows the server that ran it. */
  readonly hasServer: boolean
  /** Decisions that it waits for, in words. */
  readonly waitsFor: string | undefined
  /** The run above it is of a later day. */
  readonly isNewDay: boolean
  /** Number of the runs that began it, one within the other. */
  readonly depth: number
  /** Number of the runs below it, of which the rows may be opened. */
  readonly below: number
  readonly isOpen: boolean
  readonly onToggle: (runId: string) => void
  /** While runs are chosen to be compared. */
  readonly choice: ChosenRuns | undefined
}

/** One run: a link to its page. */
export function RunRow({
  run,
  index,
  count,
  isSelected,
  hasServer,
  waitsFor,
  isNewDay,
  depth,
  choice,
  ...fold
}: RunRowProps) {
  // One that made the run fail is seen in its status.
  const failures = run.status === 'completed' ? run.errors : 0
  const remember = () => go(href(['runs'], { ...currentQuery(), run: run.run_id }), { replace: true })
  return (
    <div
      role="listitem"
      class="run-item"
      style={{ '--depth': String(depth) }}
      aria-setsize={count}
      aria-posinset={index + 1}
    >
      {choice && (
        <input
          type="checkbox"
          class="run-choice"
          aria-label={`Compare: ${run.input || run.run_id}`}
          checked={choice.ids.includes(run.run_id)}
          onChange={() => choice.toggle(run.run_id)}
        />
      )}
      {fold.below > 0 && (
        <button
          type="button"
          class="run-fold"
          aria-expanded={fold.isOpen}
          aria-label={`${plural(fold.below, 'run')} below it`}
          title={`${plural(fold.below, 'run')} below it`}
          onClick={() => fold.onToggle(run.run_id)}
        >
          <Icon name="chevron" />
        </button>
      )}
      <a
        class="run-row"
        href={href(['runs', run.run_id])}
        data-index={index}
        data-selected={isSelected}
        onClick={remember}
      >
        {isNewDay && <span class="run-day">{formatDay(run.started_at)}</span>}
        <Said run={run} waitsFor={waitsFor} />
        <span class="run-state">
          <Status status={run.status} incomplete={run.incomplete} />
          {failures > 0 && <span class="warn-text">{plural(failures, 'call')} failed</span>}
        </span>
        <span class="run-agent">
          <span class="run-name">
            {run.agent_id}
            {run.entry_point !== '__entry__' && <span class="muted">/{run.entry_point}</span>}
            {[run.user, hasServer && run.server].map((name) => name && <span class="muted"> · {cleanText(name)}</span>)}
          </span>
          {run.variant && (
            <span class="badge" title={run.variant}>
              variant
            </span>
          )}
          {run.replays !== null && (
            <span class="badge" title={`Replay of ${run.replays} from call ${run.replays_from}`}>
              replay
            </span>
          )}
          {run.eval_case !== null && <span class="badge">case {run.eval_case}</span>}
        </span>
        <Used run={run} />
        <span class="run-number">{formatDuration(run.duration_ms)}</span>
        <span class="run-number muted">
          {run.input_tokens + run.output_tokens > 0 && formatCount(run.input_tokens + run.output_tokens)}
        </span>
        <span class="run-number run-cost muted">{formatCost(run.cost)}</span>
        <time class="run-time muted" dateTime={new Date(run.started_at * 1000).toISOString()}>
          {isNewDay || index === 0 ? formatTime(run.started_at) : formatClock(run.started_at)}
        </time>
      </a>
    </div>
  )
}

/** Models, and below them the tools; one that failed is marked. */
function Used({ run: { models, tools } }: { run: RunSummary }) {
  return (
    <span class="run-model muted">
      <span>{models.map(({ model }) => model).join(', ')}</span>
      <span>
        {tools.map(({ name, calls, errors, rejected }, index) => (
          <Fragment key={name}>
            {index > 0 && ', '}
            <span class={errors > 0 ? 'warn-text' : ''} title={describeTool({ name, calls, errors, rejected })}>
              {errors > 0 && '✕ '}
              {name}
              {rejected > 0 && ' (rejected)'}
              {calls > 1 && ` ×${formatCount(calls)}`}
            </span>
          </Fragment>
        ))}
      </span>
    </span>
  )
}

function describeTool({ name, calls, errors, rejected }: RunTool): string {
  if (calls === 0) return `${name}: not called in this run, which waits or waited`
  return `${name}: ${plural(calls, 'call')}${errors > 0 ? `, ${errors} failed` : ''}${rejected > 0 ? `, ${rejected} rejected` : ''}`
}

/** Status of HTTP that a vendor answered with, as its message names it. */
const VENDOR_STATUS = /\b(4\d\d|5\d\d)\b/

interface SaidProps {
  readonly run: RunSummary
  readonly waitsFor: string | undefined
}

/** Question, and below it the answer, what it waits for, or the error. A stopped run has no error. */
function Said({ run: { input, output, error, status, continues }, waitsFor }: SaidProps) {
  const isFailed = error !== null && (status === 'failed' || status === 'interrupted')
  const code = isFailed ? VENDOR_STATUS.exec(error)?.[0] : undefined
  return (
    <span class="run-text">
      <span class="run-input">
        {continues !== null && <span class="muted">↳ continues: </span>}
        {cleanText(input) || <span class="muted">Called without a text</span>}
      </span>
      <span class={`run-output ${isFailed ? 'bad-text' : 'muted'}`}>
        {code && <span class={`badge ${code.startsWith('4') ? 'bad' : 'warn'}`}>{code}</span>}
        {cleanText(isFailed ? error : waitsFor ? `Waits for ${waitsFor}` : excerpt(output))}
      </span>
    </span>
  )
}
