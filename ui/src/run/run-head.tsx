import { useEffect, useState } from 'preact/hooks'
import { useInbox } from '../approvals/inbox.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Notice } from '../components/notice.tsx'
import { Status } from '../components/status.tsx'
import { excerpt, formatCost, formatDuration, formatTime, formatTokens, plural, shortVersion } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { runIdOf } from '../responses/responses-client.ts'
import { go, href } from '../router.ts'
import type { ModelUsage, RunSummary, ServerFacts } from '../types.ts'
import { writeIssueReport } from './issue-report.ts'
import { exportRun } from './run-export.ts'
import type { LoadedRun } from './run-query.ts'
import { StopButton } from './stop-button.tsx'

/** Top of a run's page: question, answer, duration, tokens and cost. */
export function RunHead({ loaded, server }: { loaded: LoadedRun; server: ServerFacts | undefined }) {
  const { run, tree, elsewhere } = loaded
  const isHere = run.server === '' || run.server === server?.name
  return (
    <>
      <div class="screen-head">
        <h1 class="run-title">
          <a href={href(['agents', run.agent_id])}>{run.agent_id}</a>
          {run.entry_point !== '__entry__' && <span class="muted">/{run.entry_point}</span>}
        </h1>
        <Status status={run.status} incomplete={run.incomplete} />
        <div class="head-links">
          <Neighbours loaded={loaded} />
          {run.status === 'running' && isHere && <StopButton runId={run.run_id} />}
          <CopyButton text={() => writeIssueReport(run, tree, server?.version ?? '')} label="Copy report" />
          <button type="button" class="button" onClick={() => void exportRun(run)}>
            <Icon name="download" />
            <span>Export</span>
          </button>
        </div>
      </div>
      <Exchange run={run} />
      <Facts run={run} hasServer={server?.shares_runs === true} />
      {elsewhere && <Notice kind="warn" title="The calls of this run are not here" children={elsewhere} />}
      {run.status === 'waiting' && <WaitingFor runId={run.run_id} />}
      <Links run={run} />
      {run.error && run.status === 'failed' && <Notice kind="bad" title={run.error} />}
      {run.status === 'interrupted' && <Notice kind="warn" title="The server went away before the run had ended." />}
    </>
  )
}

/** The other runs of a conversation that waited in between. */
function Links({ run: { continues, continued_by: next } }: { run: RunSummary }) {
  if (continues === null && next === null) return null
  return (
    <p class="muted">
      {continues !== null && <a href={href(['runs', continues])}>Continues a run that waited</a>}
      {continues !== null && next !== null && ' · '}
      {next !== null && <a href={href(['runs', next])}>Continued by another run</a>}
    </p>
  )
}

function WaitingFor({ runId }: { runId: string }) {
  const waiting = useInbox().open.filter(({ response_id }) => runIdOf(response_id) === runId)
  if (waiting.length === 0) return null
  return (
    <Notice kind="warn" title="Waits for a person">
      {waiting.map(({ id, kind, name, message }) => (
        <div key={id}>
          <a href={href(['approvals'], { id })}>{kind === 'question' ? message : `May it call ${name}?`}</a>
        </div>
      ))}
    </Notice>
  )
}

function Neighbours({ loaded: { neighbours } }: { loaded: LoadedRun }) {
  const open = (id: string | null) => id && go(href(['runs', id]))
  useShortcuts({ '[': () => open(neighbours.previous), ']': () => open(neighbours.next) })
  const { previous, next } = neighbours
  return (
    <span class="neighbours">
      <IconButton
        icon="previous"
        label="Previous run"
        shortcut="["
        isDisabled={previous === null}
        onClick={() => open(previous)}
      />
      <IconButton icon="chevron" label="Next run" shortcut="]" isDisabled={next === null} onClick={() => open(next)} />
    </span>
  )
}

function Exchange({ run: { input, output, status } }: { run: RunSummary }) {
  return (
    <div class="run-exchange">
      <p class="run-question">{input || <span class="muted">Called without a text.</span>}</p>
      {output !== '' && <p class="run-answer">{excerpt(output)}</p>}
      {output === '' && status === 'running' && <span class="typing" role="status" aria-label="The agent answers" />}
    </div>
  )
}

function Facts({ run, hasServer }: { run: RunSummary; hasServer: boolean }) {
  const tokens = formatTokens(run)
  return (
    <div class="facts run-facts-line">
      <Clock run={run} />
      {run.first_text_ms !== null && <span class="muted">first text {formatDuration(run.first_text_ms)}</span>}
      <span class="muted">{plural(run.calls, 'call')}</span>
      {run.errors > 0 && <span class="bad-text">{plural(run.errors, 'error')}</span>}
      {tokens && <span>{tokens} tokens</span>}
      {run.cost !== null && <span>{formatCost(run.cost)}</span>}
      <time class="muted" dateTime={new Date(run.started_at * 1000).toISOString()}>
        {formatTime(run.started_at)}
      </time>
      {hasServer && <a href={href(['runs'], { server: run.server })}>{run.server}</a>}
      <span class="muted run-id">
        <code>{run.run_id}</code>
        <CopyButton isQuiet text={run.run_id} label="Copy run id" />
      </span>
      {run.agent_version && (
        <span class="muted">
          version{' '}
          <a href={href(['runs'], { agent: run.agent_id, version: run.agent_version })}>
            <code>{shortVersion(run.agent_version)}</code>
          </a>
        </span>
      )}
      {run.models.length > 0 && <Models models={run.models} />}
    </div>
  )
}

/** Duration; ticks while the run is in progress. */
function Clock({ run: { status, started_at, duration_ms } }: { run: RunSummary }) {
  const [now, setNow] = useState(Date.now)
  const isRunning = status === 'running'
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(Date.now()), 100)
    return () => clearInterval(timer)
  }, [isRunning])
  return <b class="figure-text">{formatDuration(isRunning ? Math.max(0, now - started_at * 1000) : duration_ms)}</b>
}

function Models({ models }: { models: readonly ModelUsage[] }) {
  return (
    <span class="run-models">
      {models.map((usage) => (
        <span class="badge" key={usage.model}>
          {usage.model ?? 'unnamed model'}
          {models.length > 1 && ` · ${formatTokens(usage)}`}
          {models.length > 1 && usage.cost !== null && ` · ${formatCost(usage.cost)}`}
        </span>
      ))}
    </span>
  )
}
