import { cleanText } from '../../../src/wire/clean-text.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { useQuery } from '../api.ts'
import { Markdown } from '../components/markdown.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { Status } from '../components/status.tsx'
import { formatCost, formatTime, formatTokens, plural } from '../format.ts'
import { useLive, useThrottled } from '../live.ts'
import { href } from '../router.ts'
import type { ScreenProps } from '../screen.ts'
import { RUN_FIELDS, type RunSummary } from '../types.ts'

const MAX_RUNS = 200
const RELOAD_MS = 500
const QUERY = `query($id: String!) {
  runs(filter: { conversation: $id }, first: ${MAX_RUNS}, sort: "started_at", ascending: true) {
    total runs { ${RUN_FIELDS} ended: events(first: 1, event_type: "end") { events { result } } }
  }
}`

type TurnRun = RunSummary & {
  readonly ended: { readonly events: readonly { readonly result: { readonly text?: string } | null }[] }
}

interface Answer {
  readonly runs: { readonly total: number; readonly runs: readonly TurnRun[] }
}

/** One conversation: its turns with the run of each, and what they cost together. */
export function ConversationScreen({ route: { path } }: ScreenProps) {
  const id = path[1] ?? ''
  const { data, error, reload } = useQuery<Answer>(QUERY, { id })
  const reloadSoon = useThrottled(reload, RELOAD_MS)
  useLive('runs', (changed) => {
    if (changed.some(({ conversation, run_id }) => conversation === id || run_id === id)) reloadSoon()
  })
  const { runs = [], total = 0 } = data?.runs ?? {}
  return (
    <div class="screen">
      <div class="screen-head">
        <h1 class="run-title">
          <a class="muted" href={href(['runs'])}>
            Runs
          </a>
          <span class="muted" aria-hidden="true">
            {' / '}
          </span>
          Conversation
        </h1>
        {runs.length > 0 && (
          <div class="head-links">
            <a class="button" href={href(['runs'], { conversation: id })}>
              As a list
            </a>
          </div>
        )}
      </div>
      {error && <Notice kind="bad" title={error} />}
      {data && runs.length === 0 && (
        <Empty title="No such conversation">Its runs are not known, or no longer: {cleanText(id)}</Empty>
      )}
      {runs.length > 0 && <Totals runs={runs} total={total} />}
      <div class="conversation" role="log" aria-label="Turns of the conversation" tabIndex={0}>
        {runs.map((run) => (
          <TurnOfRun key={run.run_id} run={run} />
        ))}
        {total > runs.length && (
          <p class="muted">The first {plural(runs.length, 'run')} are shown; the list has all.</p>
        )}
      </div>
    </div>
  )
}

function Totals({ runs, total }: { runs: readonly TurnRun[]; total: number }) {
  const sum = (count: (run: TurnRun) => number) => runs.reduce((before, run) => before + count(run), 0)
  const tokens = formatTokens({
    input_tokens: sum((run) => run.input_tokens),
    output_tokens: sum((run) => run.output_tokens),
  })
  const agents = [...new Set(runs.map(({ agent_id }) => agent_id))]
  const users = [...new Set(runs.flatMap(({ user }) => user ?? []))]
  const hasPrice = runs.every(({ cost, models }) => cost !== null || models.length === 0)
  return (
    <p class="facts dotted muted">
      <span>{plural(runs.filter(isTurn).length, 'turn')}</span>
      {total > 1 && <span>{plural(total, 'run')}</span>}
      {agents.map((agent) => (
        <a key={agent} href={href(['agents', agent])}>
          {agent}
        </a>
      ))}
      {users.map((user) => (
        <a key={user} href={href(['runs'], { user })}>
          user {cleanText(user)}
        </a>
      ))}
      {tokens && <span>{tokens} tokens</span>}
      {hasPrice && sum(costOf) > 0 && <span>{formatCost(sum(costOf))}</span>}
      <span>
        {formatTime(runs[0]?.started_at ?? 0)} to {formatTime(runs.at(-1)?.started_at ?? 0)}
      </span>
    </p>
  )
}

function costOf({ cost }: TurnRun): number {
  return cost ?? 0
}

/** A run that goes on after a decision asks nothing again. */
function isTurn({ continues }: TurnRun): boolean {
  return continues === null
}

function TurnOfRun({ run }: { run: TurnRun }) {
  const { input, output, error, status, incomplete, duration_ms: durationMs, ended } = run
  const answer = ended.events[0]?.result?.text ?? output
  const tokens = formatTokens(run)
  return (
    <>
      {isTurn(run) ? (
        <article class="message user">
          <h2>{run.user ? cleanText(run.user) : 'User'}</h2>
          <div class="message-text">
            <p class="pre">{cleanText(input) || <span class="muted">Called without a text</span>}</p>
          </div>
        </article>
      ) : (
        <p class="turn-line">Went on after a decision or an answer</p>
      )}
      <article class="message assistant">
        <h2>{run.agent_id}</h2>
        {answer !== '' && (
          <div class="message-text">
            <Markdown text={answer} />
          </div>
        )}
        {error && status === 'failed' && <Notice kind="bad" title={error} />}
        <p class="message-foot muted">
          <Status status={status} incomplete={incomplete} />
          {durationMs !== null && <span>{formatDuration(durationMs)}</span>}
          {tokens && <span>{tokens} tokens</span>}
          {run.cost !== null && <span>{formatCost(run.cost)}</span>}
          <a href={href(['runs', run.run_id])}>View the run</a>
        </p>
      </article>
    </>
  )
}
