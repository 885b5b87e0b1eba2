import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { describeWaiting, type RunStatus } from '../types.ts'
import type { ToolEvent } from './run-info.ts'

/** Tools that a run has called, each with its arguments, result and time. */
export function ToolCalls({ events, runStatus }: { events: readonly ToolEvent[]; runStatus: RunStatus | undefined }) {
  const calls = events.filter(({ event_type }) => event_type === 'call')
  if (calls.length === 0) return null
  return (
    <ul class="tool-calls" aria-label="Tools called">
      {calls.map((call) => (
        <ToolCallItem
          key={call.call_id}
          call={call}
          runStatus={runStatus}
          end={events.find((event) => event.event_type !== 'call' && event.call_id === call.call_id)}
        />
      ))}
    </ul>
  )
}

interface ToolCallItemProps {
  readonly call: ToolEvent
  readonly end: ToolEvent | undefined
  readonly runStatus: RunStatus | undefined
}

function ToolCallItem({ call, end, runStatus }: ToolCallItemProps) {
  const isFailed = end?.exception != null && !end.is_aborted
  return (
    <li>
      <details class={`tool-call kind-tool ${isFailed ? 'failed' : ''}`}>
        <summary>
          <Icon name="kind-tool" />
          <code>{call.label ?? 'tool'}</code>
          <span class={isFailed ? 'bad-text' : 'muted'}>{stateOf(end, runStatus)}</span>
        </summary>
        <JsonTree value={call.arguments?.args[1] ?? {}} label="arguments" />
        {isFailed && (
          <pre class="code exception" tabIndex={0}>
            {end.folded_exception}
          </pre>
        )}
        {end && end.exception === null && !end.is_waiting && <JsonTree value={end.result} label="result" />}
      </details>
    </li>
  )
}

function stateOf(end: ToolEvent | undefined, runStatus: RunStatus | undefined): string {
  if (!end) return 'running'
  if (end.is_waiting) return describeWaiting(runStatus)
  if (end.is_aborted) return 'stopped'
  return `${end.exception === null ? '' : 'failed, '}${formatDuration(end.duration_ms)}`
}
