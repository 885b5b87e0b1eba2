import { useMemo, useState } from 'preact/hooks'
import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Rows, useViewport } from '../components/virtual-list.tsx'
import { participantName } from '../format.ts'
import type { EventType } from '../types.ts'

const ROW_HEIGHT = 28
/** Calls that end with a result. */
const RESULTS: ReadonlySet<Call['status']> = new Set(['done', 'waiting'])

interface EventRow {
  readonly call: Call
  readonly index: number
  readonly type: EventType
}

interface EventsViewProps {
  readonly tree: CallTree
  readonly size: number
  /** Type of the events that are shown; empty or left out for all. */
  readonly type: string | undefined
  readonly selected: string
  readonly onSelect: (callId: string) => void
}

/** Events of a run in the order in which they happened: all, or those of one type. */
export function EventsView({ tree, size, type, selected, onSelect }: EventsViewProps) {
  const rows = useMemo(() => listEvents(tree).filter((row) => !type || row.type === type), [tree, size, type])
  const [place, setPlace] = useState<HTMLDivElement | null>(null)
  const viewport = useViewport(place)
  const startedAt = tree.calls[0]?.startedAt ?? 0
  return (
    <div class="events" ref={setPlace} tabIndex={0} role="group" aria-label="Events in their order">
      <Rows count={rows.length} rowHeight={ROW_HEIGHT} viewport={viewport}>
        {(index) => {
          const row = rows[index]
          return (
            row && (
              <EventLine row={row} startedAt={startedAt} isSelected={row.call.id === selected} onSelect={onSelect} />
            )
          )
        }}
      </Rows>
    </div>
  )
}

interface EventLineProps {
  readonly row: EventRow
  readonly startedAt: number
  readonly isSelected: boolean
  readonly onSelect: (callId: string) => void
}

function EventLine({ row: { call, type, index }, startedAt, isSelected, onSelect }: EventLineProps) {
  const isEnd = type !== 'call'
  const at = isEnd ? (call.endedAt ?? call.startedAt) : call.startedAt
  return (
    <button
      type="button"
      class={`event-row ${isEnd ? call.status : ''}`}
      data-selected={isSelected}
      onClick={() => onSelect(call.id)}
    >
      <span class="muted figure-text">{index}</span>
      <span class="muted figure-text">+{formatDuration((at - startedAt) * 1000)}</span>
      <span class={isEnd && call.status === 'failed' ? 'bad-text' : ''}>{type}</span>
      <span class="event-name">
        <span class="event-route">
          {participantName(call.from)} → {participantName(call.to)}.
        </span>
        <b>{call.label ?? call.method}</b>
        {call.usage?.model && <span class="muted"> {call.usage.model}</span>}
      </span>
      <span class="muted figure-text">{isEnd ? formatDuration(call.durationMs) : ''}</span>
    </button>
  )
}

function listEvents(tree: CallTree): EventRow[] {
  const rows: EventRow[] = []
  for (const call of tree.calls) {
    rows.push({ call, index: call.index, type: 'call' })
    if (call.endIndex === undefined) continue
    rows.push({ call, index: call.endIndex, type: RESULTS.has(call.status) ? 'result' : 'exception' })
  }
  return rows.sort((a, b) => a.index - b.index)
}
