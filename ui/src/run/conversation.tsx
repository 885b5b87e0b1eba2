import { useEffect, useState } from 'preact/hooks'
import type { RunOutcome } from '../../../src/trace/end-event.ts'
import { ask } from '../api.ts'
import { Markdown } from '../components/markdown.tsx'
import { Empty, Notice } from '../components/notice.tsx'
import type { RunSummary } from '../types.ts'

const QUERY = `query($id: String!, $entry: String!) { run(run_id: $id) {
  asked: events(first: 1, call_id: $entry, event_type: "call") { events { arguments } }
  history: events(first: 1, method_name: "getHistory", event_type: "result") { events { result } }
  ended: events(first: 1, event_type: "end") { events { result } }
} }`

interface Said {
  readonly arguments: { readonly args: readonly unknown[] } | null
  readonly result: unknown
}

interface Answer {
  readonly run: {
    readonly asked: { readonly events: readonly Said[] }
    readonly history: { readonly events: readonly Said[] }
    readonly ended: { readonly events: readonly { readonly result: RunOutcome | null }[] }
  } | null
}

interface Line {
  readonly role: string
  readonly text: string
}

interface ConversationProps {
  readonly run: RunSummary
  /** The call of the entry module. */
  readonly entryCall: string
  /** Grows while the run is in progress. */
  readonly size: number
}

/** Conversation as the user saw it: the earlier messages, the question, and the answer. */
export function ConversationView({ run, entryCall, size }: ConversationProps) {
  const [lines, setLines] = useState<readonly Line[]>()
  const [error, setError] = useState('')
  useEffect(() => {
    const leave = new AbortController()
    ask<Answer>(QUERY, { id: run.run_id, entry: entryCall }, leave.signal).then(
      ({ run: found }) => setLines(found ? linesOf(found) : []),
      (failure: Error) => leave.signal.aborted || setError(failure.message),
    )
    return () => leave.abort()
  }, [run.run_id, entryCall, size])
  if (error) return <Notice kind="bad" title={error} />
  if (!lines) return null
  return (
    <div class="conversation" role="log" aria-label="What the user saw" tabIndex={0}>
      {lines.length === 0 && <Empty title="Nothing was said">The agent was called without a text.</Empty>}
      {lines.map(({ role, text }, index) => (
        <article
          key={index}
          class={`message ${role === 'assistant' ? 'assistant' : role === 'user' ? 'user' : 'other'}`}
        >
          <h2>{role === 'assistant' ? 'Agent' : role === 'user' ? 'User' : role}</h2>
          <div class="message-text">{role === 'assistant' ? <Markdown text={text} /> : <p class="pre">{text}</p>}</div>
        </article>
      ))}
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

function linesOf({ asked, history, ended }: NonNullable<Answer['run']>): Line[] {
  const question = asked.events[0]?.arguments?.args[0]
  const before = history.events[0]?.result
  const earlier = Array.isArray(before) ? before.flatMap(messageOf) : []
  const isLastAsked = earlier.at(-1)?.role === 'user' && earlier.at(-1)?.text === question
  const answer = textOf(ended.events[0]?.result)
  return [
    ...earlier,
    ...(typeof question === 'string' && !isLastAsked ? [{ role: 'user', text: question }] : []),
    ...(answer === '' ? [] : [{ role: 'assistant', text: answer }]),
  ]
}

function messageOf(message: unknown): Line[] {
  const { role, content } = (message ?? {}) as Record<string, unknown>
  return typeof role === 'string' && typeof content === 'string' ? [{ role, text: content }] : []
}

/** Text that was sent, then the names of attachments. */
function textOf(outcome: RunOutcome | null | undefined): string {
  if (!outcome) return ''
  const attachments = outcome.attachments.map(({ name, media_type }) => `\n[${name ?? media_type}]\n`)
  return outcome.text + attachments.join('')
}
