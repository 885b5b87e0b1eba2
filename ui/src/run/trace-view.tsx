import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { Rows, useViewport } from '../components/virtual-list.tsx'
import { plural } from '../format.ts'
import { useFocus } from '../keyboard.ts'
import type { LoadedRun } from '../traces/run-query.ts'
import { FoldRow, TraceRowView } from './trace-row.tsx'
import { listRows, type Span, type TraceRow } from './trace-rows.ts'

const ROW_HEIGHT = 28
const TICKS = [0, 0.25, 0.5, 0.75, 1]
const NONE: ReadonlySet<string> = new Set()

interface TraceViewProps {
  readonly loaded: LoadedRun
  /** Calls that are left out. */
  readonly plumbing: ReadonlySet<Call>
  readonly selected: string
  readonly filter: string
  readonly isOnlyErrors: boolean
  readonly onSelect: (callId: string) => void
  /** Shows the calls that are left out. */
  readonly onWhole: () => void
}

/** Calls of a run as a tree and as bars over time, in the same rows. */
export function TraceView({ loaded, plumbing, selected, filter, isOnlyErrors, onSelect, onWhole }: TraceViewProps) {
  const { tree, size } = loaded
  const [collapsed, toggle] = useToggles()
  const [unfolded, unfold] = useToggles()
  const rows = useMemo(
    () => listRows(tree, { plumbing, collapsed, unfolded, selected, filter, isOnlyErrors }),
    [tree, size, plumbing, collapsed, unfolded, selected, filter, isOnlyErrors],
  )
  const [place, setPlace] = useState<HTMLDivElement | null>(null)
  const viewport = useViewport(place)
  useShowSelected(place, rows, selected)
  useFocus(place)
  const span = useMemo(() => spanOf(loaded), [loaded])
  const move = (event: KeyboardEvent) => moveSelection(event, { rows, selected, onSelect, toggle })
  return (
    <div class="trace">
      <Scale totalMs={span.totalMs} />
      <div class="trace-rows" ref={setPlace} tabIndex={0} role="tree" aria-label="Calls of the run" onKeyDown={move}>
        {rows.length === 0 && <p class="muted trace-none">No matching calls.</p>}
        <Rows count={rows.length} rowHeight={ROW_HEIGHT} viewport={viewport}>
          {(index) => {
            const row = rows[index]
            if (row?.kind === 'fold') return <FoldRow row={row} onUnfold={unfold} />
            return (
              row && (
                <TraceRowView
                  row={row}
                  span={span}
                  isSelected={row.call.id === selected}
                  onSelect={onSelect}
                  onToggle={toggle}
                />
              )
            )
          }}
        </Rows>
        {plumbing.size > 0 && filter.trim() === '' && !isOnlyErrors && (
          <div role="treeitem" aria-level={1} tabIndex={-1}>
            <button type="button" class="trace-more" onClick={onWhole}>
              ⋯ {plural(plumbing.size, 'more call')}: history, lists of tools, pieces of text
            </button>
          </div>
        )}
      </div>
    </div>
  )
}

function spanOf({ run, tree }: LoadedRun): Span {
  let totalMs = Math.max(run.duration_ms ?? 0, 0.01)
  for (const { endedAt, startedAt } of tree.calls) {
    totalMs = Math.max(totalMs, ((endedAt ?? startedAt) - run.started_at) * 1000)
  }
  return { startedAt: run.started_at, totalMs }
}

function Scale({ totalMs }: { totalMs: number }) {
  return (
    <div class="trace-scale" aria-hidden="true">
      <span />
      <div class="ticks">
        {TICKS.map((share) => (
          <span key={share} data-edge={share} style={{ left: `${share * 100}%` }}>
            {share === 0 ? '0' : formatDuration(share * totalMs)}
          </span>
        ))}
      </div>
      <span />
    </div>
  )
}

function useToggles(): [ReadonlySet<string>, (id: string) => void] {
  const [ids, setIds] = useState(NONE)
  const toggle = (id: string) =>
    setIds((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  return [ids, toggle]
}

/** Scrolls to a call that was selected elsewhere. */
function useShowSelected(place: HTMLElement | null, rows: readonly TraceRow[], selected: string): void {
  useEffect(() => {
    const index = rows.findIndex((row) => row.kind === 'call' && row.call.id === selected)
    if (index < 0 || !place) return
    const top = index * ROW_HEIGHT
    const isVisible = top >= place.scrollTop && top <= place.scrollTop + place.clientHeight - 2 * ROW_HEIGHT
    if (!isVisible) place.scrollTop = top - place.clientHeight / 2
  }, [selected, place])
}

interface Movement {
  readonly rows: readonly TraceRow[]
  readonly selected: string
  readonly onSelect: (callId: string) => void
  readonly toggle: (callId: string) => void
}

/** Arrow keys: up and down move between rows, left closes a row or moves to its parent, right opens. */
function moveSelection(event: KeyboardEvent, { rows, selected, onSelect, toggle }: Movement): void {
  const calls = rows.flatMap((row) => (row.kind === 'call' ? [row] : []))
  const index = calls.findIndex(({ call }) => call.id === selected)
  const current = calls[index]
  const go = (to: number) => {
    const next = calls[Math.max(0, Math.min(calls.length - 1, to))]
    if (next) onSelect(next.call.id)
  }
  const acts: Readonly<Record<string, () => void>> = {
    ArrowDown: () => go(index + 1),
    j: () => go(index + 1),
    ArrowUp: () => go(index - 1),
    k: () => go(index - 1),
    Home: () => go(0),
    End: () => go(calls.length - 1),
    ArrowRight: () => current?.isCollapsed && toggle(current.call.id),
    ArrowLeft: () => {
      if (current && !current.isCollapsed && current.call.children.length > 0) toggle(current.call.id)
      else if (current?.call.parent) onSelect(current.call.parent.id)
    },
  }
  const act = acts[event.key]
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  act()
}
