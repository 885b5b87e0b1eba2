import { type Call, nameMethod } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { participantName } from '../format.ts'
import {
  barEdge,
  foldLeft,
  foldRight,
  LANE,
  type SequenceBar,
  type SequenceFoldRow,
  type SequenceLayout,
  type SequenceRow,
} from './sequence-layout.ts'

interface BarProps {
  readonly bar: SequenceBar
  readonly layout: SequenceLayout
  readonly isSelected: boolean
  readonly onSelect: (callId: string) => void
}

/** Time in which a module is at work. */
export function Bar({ bar: { call, column, lane, top, bottom }, layout, isSelected, onSelect }: BarProps) {
  const x = layout.columns[column]?.x ?? 0
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its arrow is the button
    <rect
      class={`bar ${call.status}`}
      data-selected={isSelected}
      x={x + lane * LANE - LANE / 2}
      y={top}
      width={LANE}
      height={Math.max(4, bottom - top)}
      rx={2}
      onClick={() => onSelect(call.id)}
    />
  )
}

interface ArrowProps {
  readonly row: Extract<SequenceRow, { kind: 'call' | 'return' }>
  readonly layout: SequenceLayout
  readonly isSelected: boolean
  readonly onSelect: (callId: string) => void
}

/** A call, or its return. */
export function Arrow({ row, layout, isSelected, onSelect }: ArrowProps) {
  const { kind, y, call, from, to } = row
  const isRight = to >= from
  const calleeX = barEdge(layout.columns[to]?.x ?? 0, layout.lanes.get(call.id) ?? 0, !isRight)
  const callerLane = call.parent ? (layout.lanes.get(call.parent.id) ?? 0) : 0
  const callerX = barEdge(layout.columns[from]?.x ?? 0, callerLane, isRight)
  const isSelf = from === to
  // At the left of the column furthest to the right: no bar stands there.
  const { left, right } = layout.gaps[Math.max(from, to)] ?? { left: callerX, right: calleeX }
  const middle = (left + right) / 2
  if (kind === 'return') {
    const isFailed = call.status === 'failed'
    const path = isSelf ? `M${calleeX + LANE} ${y - 4}h22v4h-22` : `M${calleeX} ${y}H${callerX}`
    return (
      <g class={`return ${call.status}`} data-selected={isSelected}>
        <path d={path} marker-end={isFailed ? 'url(#failed-end)' : 'url(#return-end)'} />
        {!isSelf && (
          <text x={middle} y={y - 4} text-anchor="middle">
            {isFailed ? 'failed' : formatDuration(call.durationMs)}
          </text>
        )}
      </g>
    )
  }
  const path = isSelf ? `M${calleeX + LANE} ${y - 12}h24v12h-22` : `M${callerX} ${y}H${calleeX}`
  const labelX = isSelf ? calleeX + LANE + 30 : middle
  const select = () => onSelect(call.id)
  return (
    <g
      class={`call ${call.status}`}
      data-selected={isSelected}
      data-call={call.id}
      role="button"
      tabindex={-1}
      aria-pressed={isSelected}
      aria-label={describe(row)}
      onClick={select}
      onKeyDown={({ key }) => key === 'Enter' && select()}
    >
      <rect
        class="hit"
        x={Math.min(callerX, calleeX) - 4}
        y={y - 18}
        width={Math.abs(calleeX - callerX) + (isSelf ? 120 : 8)}
        height={24}
        rx={4}
      />
      <path d={path} marker-end="url(#call-end)" />
      <text x={labelX} y={y - 5} text-anchor={isSelf ? 'start' : 'middle'}>
        {shorten(nameMethod(call), isSelf ? 200 : right - left)}
      </text>
    </g>
  )
}

function describe({ call }: { call: Call }): string {
  const state = call.status === 'running' ? 'still running' : `${call.status} after ${formatDuration(call.durationMs)}`
  return `${participantName(call.from)} calls ${participantName(call.to)}.${nameMethod(call)}, ${state}`
}

function shorten(text: string, width: number): string {
  const room = Math.max(4, Math.floor((width - 24) / 7))
  return text.length > room ? `${text.slice(0, room - 1)}…` : text
}

interface FoldRowProps {
  readonly row: SequenceFoldRow
  readonly layout: SequenceLayout
  readonly onUnfold: (id: string) => void
}

/** Repetitions in one row. */
export function FoldRow({ row, layout: { columns }, onUnfold }: FoldRowProps) {
  const { y, fold, label } = row
  const left = foldLeft(row, columns)
  const unfold = () => onUnfold(fold.id)
  return (
    <g class="fold" role="button" tabindex={0} onClick={unfold} onKeyDown={({ key }) => key === 'Enter' && unfold()}>
      <rect x={left} y={y - 12} width={foldRight(row, columns) - left} height={24} rx={6} />
      <text x={left + 12} y={y + 4}>
        {label}
      </text>
    </g>
  )
}

/** Ends of the arrows. */
export function ArrowHeads() {
  return (
    <defs>
      <marker
        id="call-end"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="8"
        markerHeight="8"
        orient="auto-start-reverse"
      >
        <path d="M0 0 8 4 0 8Z" class="call-head" />
      </marker>
      <marker id="return-end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
        <path d="M1 1 7 4 1 7" class="return-head" />
      </marker>
      <marker id="failed-end" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="8" markerHeight="8" orient="auto">
        <path d="M1 1 7 7M7 1 1 7" class="failed-head" />
      </marker>
    </defs>
  )
}
