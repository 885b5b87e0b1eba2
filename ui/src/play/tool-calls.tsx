import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { formatDuration } from '../format.ts'
import type { ToolEvent } from './run-facts.ts'

/** Tools that a run has called, each with its arguments, result and time. */
export function ToolCalls({ events, isWaiting }: { events: readonly ToolEvent[]; isWaiting: boolean }) {
  const calls = events.filter(({ event_type }) => event_type === 'call')
  if (calls.length === 0) return null
  return (
    <ul class="tool-calls" aria-label="Tools called">
      {calls.map((call) => (
        <ToolCallItem
          key={call.call_id}
          call={call}
          isWaiting={isWaiting}
          end={events.find((event) => event.event_type !== 'call' && event.call_id === call.call_id)}
        />
      ))}
    </ul>
  )
}

interface ToolCallItemProps {
  readonly call: ToolEvent
  readonly end: ToolEvent | undefined
  /** The run was interrupted in this call, and continues with it later. */
  readonly isWaiting: boolean
}

function ToolCallItem({ call, end, isWaiting }: ToolCallItemProps) {
  const isFailed = end?.exception != null && !end.is_aborted
  return (
    <li>
      <details class={`tool-call kind-tool ${isFailed ? 'failed' : ''}`}>
        <summary>
          <Icon name="kind-tool" />
          <code>{call.label ?? 'tool'}</code>
          <span class={isFailed ? 'bad-text' : 'muted'}>{stateOf(end, isWaiting)}</span>
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

function stateOf(end: ToolEvent | undefined, isWaiting: boolean): string {
  if (!end) return 'running'
  if (end.is_aborted) return isWaiting ? 'waits' : 'stopped'
  return `${end.exception === null ? '' : 'failed, '}${formatDuration(end.duration_ms)}`
}
