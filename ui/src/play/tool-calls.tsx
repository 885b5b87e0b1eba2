import { useQuery } from '../api.ts'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { formatDuration } from '../format.ts'
import { useLive, useThrottled } from '../live.ts'

const QUERY = `query($id: String!) { run(run_id: $id) { events(first: 400, method_name: "executeTool") {
  events { event_type call_id label arguments result exception duration_ms } } } }`
/** Delay in which changes of a run are collected before its tools are read again. */
const REFRESH_MS = 300

interface ToolEvent {
  readonly event_type: string
  readonly call_id: string
  readonly label: string | null
  readonly arguments: { readonly args: readonly unknown[] } | null
  readonly result: unknown
  readonly exception: string | null
  readonly duration_ms: number | null
}

/** Tools that a run has called, each with its arguments, result and time. They come from its trace. */
export function ToolCalls({ runId }: { runId: string }) {
  const { data, reload } = useQuery<{ run: { events: { events: ToolEvent[] } } | null }>(QUERY, { id: runId })
  const reloadSoon = useThrottled(reload, REFRESH_MS)
  useLive('runs', (runs) => runs.some(({ run_id }) => run_id === runId) && reloadSoon())
  const events = data?.run?.events.events ?? []
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
  const isFailed = end?.exception != null
  return (
    <li>
      <details class={`tool-call kind-tool ${isFailed ? 'failed' : ''}`}>
        <summary>
          <Icon name="kind-tool" />
          <code>{call.label ?? 'tool'}</code>
          <span class={isFailed ? 'bad-text' : 'muted'}>
            {end ? `${isFailed ? 'failed, ' : ''}${formatDuration(end.duration_ms)}` : 'running'}
          </span>
        </summary>
        <JsonTree value={call.arguments?.args[1] ?? {}} label="arguments" />
        {isFailed && <pre class="code exception">{end.exception}</pre>}
        {end && !isFailed && <JsonTree value={end.result} label="result" />}
      </details>
    </li>
  )
}
