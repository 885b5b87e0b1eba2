import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { formatDuration } from '../format.ts'
import type { ToolEvent } from './run-facts.ts'

/** Tools that a run has called, each with its arguments, result and time. */
export function ToolCalls({ events }: { events: readonly ToolEvent[] }) {
  const calls = events.filter(({ event_type }) => event_type === 'call')
  if (calls.length === 0) return null
  return (
    <ul class="tool-calls" aria-label="Tools called">
      {calls.map((call) => (
        <ToolCallItem
          key={call.call_id}
          call={call}
          end={events.find((event) => event.event_type !== 'call' && event.call_id === call.call_id)}
        />
      ))}
    </ul>
  )
}

function ToolCallItem({ call, end }: { call: ToolEvent; end: ToolEvent | undefined }) {
  const isFailed = end?.exception != null && !end.is_aborted
  return (
    <li>
      <details class={`tool-call kind-tool ${isFailed ? 'failed' : ''}`}>
        <summary>
          <Icon name="kind-tool" />
          <code>{call.label ?? 'tool'}</code>
          <span class={isFailed ? 'bad-text' : 'muted'}>{stateOf(end)}</span>
        </summary>
        <JsonTree value={call.arguments?.args[1] ?? {}} label="arguments" />
        {isFailed && (
          <pre class="code exception" tabIndex={0}>
            {end.exception}
          </pre>
        )}
        {end && end.exception === null && <JsonTree value={end.result} label="result" />}
      </details>
    </li>
  )
}

function stateOf(end: ToolEvent | undefined): string {
  if (!end) return 'running'
  if (end.is_aborted) return 'broken off'
  return `${end.exception === null ? '' : 'failed, '}${formatDuration(end.duration_ms)}`
}
