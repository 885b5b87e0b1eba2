import type { CallTree } from '../../../src/trace/calls/call-tree.ts'
import { cleanText } from '../../../src/wire/clean-text.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import { parseJson } from '../components/parse-json.ts'
import { Pictures } from '../components/pictures.tsx'
import { go, href } from '../router.ts'
import { describeWaiting, type RunSummary } from '../types.ts'
import { type ConversationTurn, type TextTurn, type ToolTurn, useConversation } from './conversation-query.ts'

const MAX_LABEL = 60

interface ConversationProps {
  readonly run: RunSummary
  readonly tree: CallTree
  /** Grows while the run is in progress. */
  readonly size: number
}

/** Conversation as the user saw it: earlier turns, the question, the tools that were called, and the answer. */
export function ConversationView({ run, tree, size }: ConversationProps) {
  const { conversation, error } = useConversation(run.run_id, tree.roots[0]?.id ?? '', size)
  if (error) return <Notice kind="bad" title={error} />
  if (!conversation) return null
  const { turns, earlier, files, isCut } = conversation
  return (
    <div class="conversation" role="log" aria-label="What the user saw" tabIndex={0}>
      {turns.length === 0 && <Empty title="Nothing was said">The agent was called without a text.</Empty>}
      {turns.slice(0, earlier).map((turn, index) => (
        <Turn key={index} turn={turn} run={run} />
      ))}
      {earlier > 0 && (
        <p class="turn-line" ref={scrollTo}>
          This run
        </p>
      )}
      {turns.slice(earlier).map((turn, index) => (
        <Turn key={index} turn={turn} run={run} />
      ))}
      {isCut && <p class="muted">The first 200 tools are shown; the trace has the others.</p>}
      {files.length > 0 && (
        <ul class="pictures" aria-label="Files that were sent">
          {files.map((name, index) => (
            <li key={index}>
              <span class="badge">{name}</span>
            </li>
          ))}
        </ul>
      )}
      {run.status === 'running' && <span class="typing" role="status" aria-label="The agent answers" />}
      {run.status === 'failed' && (
        <Notice kind="bad" title="The run failed">
          {run.error}
        </Notice>
      )}
      {run.status === 'cancelled' && <Notice kind="warn" title="The run was cancelled." />}
      {run.status === 'interrupted' && <Notice kind="warn" title="The server went away before the run had ended." />}
    </div>
  )
}

/** Scrolls a line of the conversation to its top, and the page not at all. */
function scrollTo(line: HTMLElement | null): void {
  const log = line?.parentElement
  if (log) log.scrollTop = line.offsetTop - log.offsetTop
}

function Turn({ turn, run }: { turn: ConversationTurn; run: RunSummary }) {
  return turn.kind === 'tool' ? <ToolView turn={turn} run={run} /> : <TextView turn={turn} />
}

function TextView({ turn: { role, text, attachments } }: { turn: TextTurn }) {
  const isAgent = role === 'assistant'
  return (
    <article class={`message ${isAgent ? 'assistant' : role === 'user' ? 'user' : 'other'}`}>
      <h2>{isAgent ? 'Agent' : role === 'user' ? 'User' : role}</h2>
      <div class="message-text">
        {text !== '' && (isAgent ? <Markdown text={text} /> : <p class="pre">{cleanText(text)}</p>)}
        <Pictures attachments={attachments} />
      </div>
    </article>
  )
}

/** A tool with its arguments, result and time; pictures that it gave are seen at once. */
function ToolView({ turn, run }: { turn: ToolTurn; run: RunSummary }) {
  const { callId, name, args, state, content, attachments, durationMs } = turn
  const isFailed = state === 'failed'
  return (
    <div class="message tool-turn">
      <details class={`tool-call kind-tool ${isFailed ? 'failed' : ''}`} open={isFailed}>
        <summary>
          <Icon name="kind-tool" />
          <code>{labelOf(name, args)}</code>
          <span class={isFailed ? 'bad-text' : 'muted'}>{describeState(turn, run)}</span>
        </summary>
        <h3>Arguments</h3>
        <JsonTree value={args} label="arguments" />
        {content !== undefined && (
          <>
            <h3>{isFailed ? 'Failure' : 'Result'}</h3>
            {isFailed ? (
              <p class="bad-text">{cleanText(String(content))}</p>
            ) : (
              <JsonTree value={parseJson(content)} label="result" />
            )}
          </>
        )}
        {callId !== '' && (
          <button type="button" class="link" onClick={() => go(href(['runs', run.run_id], { call: callId }))}>
            Show in the trace
          </button>
        )}
      </details>
      <Pictures attachments={attachments} />
      {durationMs === null && state === 'running' && <span class="typing" role="status" aria-label="The tool works" />}
    </div>
  )
}

function labelOf(name: string, args: unknown): string {
  const values = typeof args === 'object' && args !== null ? Object.values(args) : [args]
  const listed = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')
  const label = `${name}(${listed})`
  return label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label
}

function describeState({ state, durationMs, callId }: ToolTurn, run: RunSummary): string {
  if (state === 'waiting') return callId === '' ? 'no result' : describeWaiting(run.status)
  if (state === 'running' || state === 'stopped') return state
  const time = durationMs === null ? '' : formatDuration(durationMs)
  return state === 'failed' ? `failed${time && `, ${time}`}` : time
}
