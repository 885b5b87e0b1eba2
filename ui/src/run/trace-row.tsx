import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { formatCount, formatTokens } from '../format.ts'
import { href } from '../router.ts'
import { childRunOf, nameCall, type Span, type TraceRow } from './trace-rows.ts'

/** Deeper calls are indented no further. */
const MAX_INDENT = 14

interface TraceRowProps {
  readonly row: Extract<TraceRow, { kind: 'call' }>
  readonly span: Span
  readonly isSelected: boolean
  readonly onSelect: (callId: string) => void
  readonly onToggle: (callId: string) => void
}

/** One call: its name below its caller, and its bar over time. */
export function TraceRowView({ row: { call, isCollapsed }, span, isSelected, onSelect, onToggle }: TraceRowProps) {
  const hasChildren = call.children.length > 0
  const toggle = (event: MouseEvent) => {
    event.stopPropagation()
    onToggle(call.id)
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree around it has the keys
    <div
      class={`trace-row kind-${call.kind} ${call.status}`}
      role="treeitem"
      tabIndex={-1}
      data-call={call.id}
      data-selected={isSelected}
      aria-selected={isSelected}
      aria-level={call.depth + 1}
      aria-expanded={hasChildren ? !isCollapsed : undefined}
      onClick={() => onSelect(call.id)}
    >
      <span class="trace-name" style={{ '--depth': String(Math.min(call.depth, MAX_INDENT)) }}>
        {hasChildren ? (
          <span class="trace-toggle" aria-hidden="true" data-open={!isCollapsed} onClick={toggle}>
            <Icon name="chevron" />
          </span>
        ) : (
          <span class="trace-toggle" />
        )}
        <Icon name={`kind-${call.kind}` as IconName} />
        <RowName call={call} />
        {call.verdict && <span class="own-run warn-text"> {VERDICTS[call.verdict] ?? call.verdict}</span>}
        {isFirstOfRun(call) && <OwnRun call={call} />}
      </span>
      <Bar call={call} span={span} />
      <span class="trace-time">{call.status === 'running' ? 'running' : formatDuration(call.durationMs)}</span>
    </div>
  )
}

/** Tells whether a run of another agent begins with a call. */
function isFirstOfRun(call: Call): boolean {
  const { parent } = call
  return parent?.children.find(({ runId }) => runId !== parent.runId) === call
}

/** Link to the page of an agent's run that another began. */
export function OwnRun({ call }: { call: Call }) {
  const runId = childRunOf(call)
  if (runId === undefined) return null
  return (
    <a class="own-run" href={href(['runs', runId])} onClick={(event) => event.stopPropagation()}>
      its own run
    </a>
  )
}

/** Verdicts of guards, in a word. */
export const VERDICTS: Readonly<Record<string, string>> = { redact: 'redacted', block: 'blocked', ask: 'held' }

function RowName({ call }: { call: Call }) {
  const { name, detail } = nameCall(call)
  return (
    <span class="trace-text">
      {call.status === 'failed' && (
        <span class="bad-text">
          <span aria-hidden="true">✕ </span>
          <span class="hidden">failed: </span>
        </span>
      )}
      {name}
      {detail && <span class="muted"> {detail}</span>}
      {call.usage && <span class="muted"> {formatTokens(call.usage)}</span>}
    </span>
  )
}

function Bar({ call, span: { startedAt, totalMs } }: { call: Call; span: Span }) {
  const left = Math.min(1, Math.max(0, ((call.startedAt - startedAt) * 1000) / totalMs))
  const width = call.durationMs === undefined ? 1 - left : Math.min(call.durationMs / totalMs, 1 - left)
  return (
    <span class="trace-track">
      <span class="trace-bar" style={{ left: `${left * 100}%`, width: `${Math.max(0, width) * 100}%` }} />
    </span>
  )
}

interface FoldRowProps {
  readonly row: Extract<TraceRow, { kind: 'fold' }>
  readonly onUnfold: (id: string) => void
}

/** Repetitions in one row. */
export function FoldRow({ row: { fold, depth }, onUnfold }: FoldRowProps) {
  const names = [...new Set(fold.calls.filter((call) => call.depth === depth).map((call) => nameCall(call).name))]
  const text = `${formatCount(fold.count)} more × ${names.slice(0, 3).join(', ')} · ${formatDuration(fold.durationMs)}`
  return (
    <div class="trace-row fold-row" role="treeitem" tabIndex={-1} aria-level={depth + 1}>
      <button
        type="button"
        class="trace-name"
        style={{ '--depth': String(Math.min(depth, MAX_INDENT)) }}
        onClick={() => onUnfold(fold.id)}
      >
        <span class="trace-toggle" />
        <Icon name="loop" />
        <span class="trace-text muted">{text}</span>
      </button>
    </div>
  )
}
