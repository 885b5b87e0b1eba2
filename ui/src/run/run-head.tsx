import { useEffect, useRef, useState } from 'preact/hooks'
import type { CallTree } from '../../../src/trace/calls/call-tree.ts'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { useQuery } from '../api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Notice } from '../components/notice.tsx'
import { ReplayMark } from '../components/replay-mark.tsx'
import { Status } from '../components/status.tsx'
import { formatCost, formatCount, formatTime, formatTokens, plural, shortVersion } from '../format.ts'
import { useShortcuts } from '../keyboard.ts'
import { go, href } from '../router.ts'
import type { LoadedRun } from '../traces/run-query.ts'
import type { RunSummary, ServerInfo } from '../types.ts'
import { writeIssueReport } from './issue-report.ts'
import { exportRun } from './run-export.ts'
import { SaveTest } from './save-test.tsx'
import { StopButton } from './stop-button.tsx'
import { VERDICTS } from './trace-row.tsx'
import { WaitingFor } from './waiting-for.tsx'

interface RunHeadProps {
  readonly loaded: LoadedRun
  readonly server: ServerInfo | undefined
  /** The server has the tape of the run. */
  readonly hasTape: boolean
}

/** Top of a run's page: question, answer, duration, tokens and cost. */
export function RunHead({ loaded, server, hasTape }: RunHeadProps) {
  const { run, tree, elsewhere } = loaded
  const isHere = run.server === '' || run.server === server?.name
  const entry = run.entry_point === '__entry__' ? '' : run.entry_point
  return (
    <>
      <div class="screen-head">
        <h1 class="run-title">
          <a class="muted" href={href(['runs'])}>
            Runs
          </a>
          <span class="muted" aria-hidden="true">
            {' / '}
          </span>
          <a href={href(['agents', run.agent_id])}>{run.agent_id}</a>
          {entry && <span class="muted">/{entry}</span>}
          {run.parent_run_id !== null && <CalledBy id={run.parent_run_id} call={run.parent_run_call_id ?? ''} />}
        </h1>
        <div class="head-links">
          <Neighbours loaded={loaded} />
          {run.status === 'running' && isHere && <StopButton runId={run.run_id} />}
          <a class="button" href={href(['play', run.agent_id], { entry, draft: run.input })}>
            <Icon name="play" />
            <span>Try again</span>
          </a>
          {hasTape && <SaveTest run={run} />}
          <CopyButton isQuiet text={() => writeIssueReport(run, tree, server?.version ?? '')} label="Copy report" />
          <IconButton icon="download" label="Export" onClick={() => void exportRun(run, hasTape)} />
        </div>
      </div>
      <div class="run-head">
        <Exchange run={run} />
        <div class="run-facts">
          <Outcome run={run} tree={tree} />
          <Facts run={run} tree={tree} hasServer={server?.shares_runs === true} />
        </div>
      </div>
      {elsewhere && <Notice kind="warn" title="The calls of this run are not here" children={elsewhere} />}
      <WaitingFor run={run} tree={tree} />
      {run.error && run.status === 'failed' && <Notice kind="bad" title={run.error} />}
      {run.status === 'interrupted' && <Notice kind="warn" title="The server went away before the run had ended." />}
    </>
  )
}

const PARENT_QUERY = 'query($id: String!) { run(run_id: $id) { agent_id } }'

/** Link to the call of another agent's run that began this one. */
function CalledBy({ id, call }: { id: string; call: string }) {
  const { data } = useQuery<{ run: { agent_id: string } | null }>(PARENT_QUERY, { id })
  return (
    <a class="called-by" href={href(['runs', id], { call })}>
      called by {data?.run?.agent_id ?? 'another agent'}
    </a>
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

/** The question, and how the answer begins. */
function Exchange({ run: { input, output, status } }: { run: RunSummary }) {
  return (
    <div class="run-exchange">
      <p class="run-question">{cleanText(input) || <span class="muted">Called without a text.</span>}</p>
      {output !== '' && <Answer text={output} />}
      {output === '' && status === 'running' && <span class="typing" role="status" aria-label="The agent answers" />}
    </div>
  )
}

/** Four lines of the answer; a longer one opens. */
function Answer({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null)
  const [isLong, setLong] = useState(false)
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const { current } = place
    setLong(current !== null && current.scrollHeight > current.clientHeight + 1)
  }, [text])
  return (
    <>
      <div class="run-answer" ref={place} data-open={isOpen} data-long={isLong}>
        <Markdown text={text} />
      </div>
      {isLong && (
        <button type="button" class="link more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'less' : 'more'}
        </button>
      )}
    </>
  )
}

/** Status, time, tokens and cost. */
function Outcome({ run, tree }: { run: RunSummary; tree: CallTree }) {
  const tokens = formatTokens(run)
  const failures = run.status === 'failed' ? 0 : run.errors
  const verdicts = verdictsOf(tree)
  return (
    <p class="facts dotted">
      <Status status={run.status} incomplete={run.incomplete} />
      <Clock run={run} />
      {tokens && <span>{tokens} tokens</span>}
      {run.cost !== null && <span>{formatCost(run.cost)}</span>}
      {verdicts.map((words) => (
        <span key={words} class="warn-text">
          {words}
        </span>
      ))}
      {failures > 0 && <span class="warn-text">{plural(failures, failedNoun(tree))} failed</span>}
    </p>
  )
}

/** `redacted by no-addresses`, once each. */
function verdictsOf({ calls }: CallTree): readonly string[] {
  const words = calls.flatMap(({ verdict, to }) => (verdict ? `${VERDICTS[verdict] ?? verdict} by ${to}` : []))
  return [...new Set(words)]
}

/** Names what failed on the way: a tool, where all that failed are tools. */
function failedNoun({ calls }: CallTree): string {
  const failed = calls.filter(({ status }) => status === 'failed')
  return failed.every(({ kind }) => kind === 'tool') ? 'tool' : 'call'
}

function Facts({ run, tree, hasServer }: { run: RunSummary; tree: CallTree; hasServer: boolean }) {
  const tools = tree.calls.filter(({ kind, method }) => kind === 'tool' && method === 'executeTool').length
  return (
    <p class="facts dotted muted">
      {modelCounts(tree).map(([model, count]) => (
        <span key={model}>
          {model}
          {count > 1 && ` ×${formatCount(count)}`}
        </span>
      ))}
      {tools > 0 && <span>{plural(tools, 'tool call')}</span>}
      {run.first_text_ms !== null && <span>{describeFirstText(run)}</span>}
      <time dateTime={new Date(run.started_at * 1000).toISOString()}>{formatTime(run.started_at)}</time>
      {hasServer && <a href={href(['runs'], { server: run.server })}>{run.server}</a>}
      {run.agent_version && (
        <a href={href(['runs'], { agent: run.agent_id, version: run.agent_version })}>
          version {shortVersion(run.agent_version)}
        </a>
      )}
      {run.user && <a href={href(['runs'], { user: run.user })}>user {cleanText(run.user)}</a>}
      <OfConversation run={run} />
      {run.variant && <span title={run.variant}>variant: {run.variant}</span>}
      <ReplayMark run={run} />
      {run.eval_case !== null && (
        <a class="badge" href={href(['evals'], { case: run.eval_case })}>
          case {run.eval_case}
        </a>
      )}
      <span class="run-id">
        run {shortId(run.run_id)}
        <CopyButton isQuiet text={run.run_id} label="Copy run id" />
      </span>
    </p>
  )
}

const CONVERSATION_QUERY = 'query($id: String!) { runs(filter: { conversation: $id }, first: 1) { total } }'

/** Link to the conversation of a run, where it is not the only one of it. */
function OfConversation({ run: { conversation, run_id: runId, parent_run_id: parent } }: { run: RunSummary }) {
  const id = conversation ?? runId
  const { data } = useQuery<{ runs: { total: number } }>(CONVERSATION_QUERY, { id })
  const total = data?.runs.total ?? 0
  if (total < 2 || parent !== null) return null
  return <a href={href(['conversations', id])}>conversation of {plural(total, 'run')}</a>
}

/** An answer that came at the end in one piece was not streamed. */
function describeFirstText({ first_text_ms: firstMs, duration_ms: totalMs }: RunSummary): string {
  const isAtEnd = firstMs !== null && totalMs !== null && totalMs - firstMs < totalMs * AT_END
  return isAtEnd ? 'not streamed' : `first token ${formatDuration(firstMs)}`
}

/** Models of a run with the number of their calls, in the order of first use. */
function modelCounts({ calls }: CallTree): [string, number][] {
  const counts = new Map<string, number>()
  for (const { usage } of calls) {
    if (usage?.model) counts.set(usage.model, (counts.get(usage.model) ?? 0) + 1)
  }
  return [...counts]
}

/** Part of the duration. */
const AT_END = 0.02

/** Beginning of an id, as the command line takes it: ids of stored runs begin with their time in milliseconds. */
function shortId(id: string): string {
  return id.slice(0, 13)
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
  return (
    <span class="figure-text run-clock">
      {formatDuration(isRunning ? Math.max(0, now - started_at * 1000) : duration_ms)}
    </span>
  )
}
