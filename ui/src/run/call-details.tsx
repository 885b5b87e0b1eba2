import { useEffect, useState } from 'preact/hooks'
import type { Call } from '../../../src/trace/call-tree.ts'
import { ask } from '../api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Notice } from '../components/notice.tsx'
import { formatDuration, participantName } from '../format.ts'

const QUERY = `query($id: String!, $call: String!) { run(run_id: $id) {
  events(first: 2, call_id: $call) { events { event_type event_name arguments result exception } }
} }`

interface Payload {
  readonly event_type: string
  readonly event_name: string
  readonly arguments: { readonly args: readonly unknown[] } | null
  readonly result: unknown
  readonly exception: string | null
}

interface CallDetailsProps {
  readonly runId: string
  readonly agentId: string
  readonly call: Call
  /** Unix seconds. */
  readonly runStartedAt: number
  readonly onClose: () => void
}

/** Everything about one call: what was said is fetched only now. */
export function CallDetails({ runId, call, runStartedAt, onClose }: CallDetailsProps) {
  const [events, setEvents] = useState<readonly Payload[]>()
  const [error, setError] = useState('')
  useEffect(() => {
    const leave = new AbortController()
    ask<{ run: { events: { events: Payload[] } } | null }>(QUERY, { id: runId, call: call.id }, leave.signal).then(
      ({ run }) => setEvents(run?.events.events ?? []),
      (failure: Error) => leave.signal.aborted || setError(failure.message),
    )
    return () => leave.abort()
  }, [runId, call.id, call.status])
  const begin = events?.find(({ event_type }) => event_type === 'call')
  const end = events?.find(({ event_type }) => event_type !== 'call')
  return (
    <aside class="panel side" aria-label="Selected call">
      <div class="panel-head">
        <h2>
          {participantName(call.moduleId)}
          <span class="muted">.{call.method}</span>
        </h2>
        <button type="button" class="icon-button" onClick={onClose} aria-label="Close">
          <Icon name="close" />
        </button>
      </div>
      <dl class="facts-list">
        <dt>Status</dt>
        <dd class={call.status === 'failed' ? 'bad-text' : ''}>{call.status}</dd>
        <dt>Duration</dt>
        <dd>{formatDuration(call.durationMs)}</dd>
        <dt>Began</dt>
        <dd>after {formatDuration((call.startedAt - runStartedAt) * 1000)}</dd>
        <dt>Called by</dt>
        <dd>{participantName(call.callerId)}</dd>
        <dt>Module</dt>
        <dd>
          <code>{begin?.event_name.split('.').slice(0, -3).join('.') || call.moduleId}</code>{' '}
          <span class="muted">{call.moduleClass}</span>
        </dd>
      </dl>
      {error && <Notice kind="bad" title={error} />}
      {begin?.arguments && (
        <>
          <h3>Arguments</h3>
          <JsonTree value={begin.arguments.args} label="arguments" />
        </>
      )}
      {end?.event_type === 'result' && (
        <>
          <h3>Result</h3>
          <JsonTree value={joinTexts(end.result)} label="result" />
        </>
      )}
      {end?.exception != null && (
        <>
          <div class="panel-head">
            <h3>Exception</h3>
            <CopyButton isQuiet text={end.exception} label="Copy exception" />
          </div>
          <pre class="code exception" tabIndex={0}>
            {end.exception}
          </pre>
        </>
      )}
      {events?.length === 0 && <Notice kind="warn" title="The trace of this call is gone: its file was rotated away" />}
    </aside>
  )
}

interface TextPart {
  readonly type: string
  readonly text: string
}

/** The pieces in which a model's text came are one text to a reader. */
function joinTexts(result: unknown): unknown {
  if (!Array.isArray(result)) return result
  const joined: unknown[] = []
  for (const part of result) {
    const last = joined.at(-1)
    if (isText(part) && isText(last) && part.type === last.type)
      joined[joined.length - 1] = { ...last, text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}

function isText(part: unknown): part is TextPart {
  const { type, text } = (part ?? {}) as Partial<TextPart>
  return (type === 'text' || type === 'reasoning') && typeof text === 'string'
}
