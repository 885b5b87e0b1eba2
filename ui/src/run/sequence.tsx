import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'
import { useViewport } from '../components/virtual-list.tsx'
import { participantName } from '../format.ts'
import { useFocus } from '../keyboard.ts'
import { useKept } from '../storage.ts'
import type { RunSummary } from '../types.ts'
import { HEAD_HEIGHT, layoutSequence, type SequenceLayout } from './sequence-layout.ts'
import { Arrow, ArrowHeads, Bar, FoldRow } from './sequence-marks.tsx'
import { fittingZoom, SequenceTools } from './sequence-tools.tsx'

interface SequenceProps {
  readonly run: RunSummary
  readonly tree: CallTree
  /** Grows with the tree, which is one object for the whole run. */
  readonly size: number
  /** Calls that are left out. */
  readonly plumbing: ReadonlySet<Call>
  readonly selected: string
  /** False for a call that was selected by itself: it is not scrolled to, for the diagram is read from its beginning. */
  readonly isChosen: boolean
  readonly onSelect: (callId: string) => void
}

/** The calls of a run as a sequence diagram. Draws only the visible part. */
export function Sequence({ run, tree, size, plumbing, selected, isChosen, onSelect }: SequenceProps) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set())
  const [chosenZoom, setZoom] = useKept('sequence.zoom', 0)
  const layout = useMemo(
    () => layoutSequence(tree, { plumbing, unfolded, selected }),
    [tree, size, plumbing, unfolded, selected],
  )
  const [scrolled, setScrolled] = useState<HTMLDivElement | null>(null)
  const viewport = useViewport(scrolled)
  const zoom = chosenZoom || fittingZoom(viewport.width / layout.width)
  useShowSelected(scrolled, layout, isChosen ? selected : '', zoom)
  useFocus(scrolled)
  return (
    <>
      <SequenceTools run={run} tree={tree} layout={layout} zoom={zoom} onZoom={setZoom} />
      <div
        class="sequence"
        ref={setScrolled}
        tabIndex={0}
        role="group"
        aria-label="Sequence diagram"
        onKeyDown={(event) => moveSelection(event, layout, selected, onSelect)}
      >
        <div style={{ zoom: String(zoom), width: `${layout.width}px` }}>
          <Heads layout={layout} />
          <Drawing
            layout={layout}
            top={viewport.top / zoom - MARGIN}
            bottom={(viewport.top + viewport.height) / zoom + MARGIN}
            selected={selected}
            onSelect={onSelect}
            onUnfold={(id) => setUnfolded((before) => new Set([...before, id]))}
          />
        </div>
      </div>
    </>
  )
}

/** Margin drawn around the visible part, so that scrolling shows no gap. */
const MARGIN = 200

function Heads({ layout }: { layout: SequenceLayout }) {
  return (
    <div class="sequence-heads" style={{ width: `${layout.width}px`, height: `${HEAD_HEIGHT}px` }}>
      {layout.columns.map(({ id, x }) => (
        <span key={id} class="sequence-head" style={{ left: `${x}px` }}>
          {participantName(id)}
        </span>
      ))}
    </div>
  )
}

interface DrawingProps {
  readonly layout: SequenceLayout
  readonly top: number
  readonly bottom: number
  readonly selected: string
  readonly onSelect: (callId: string) => void
  readonly onUnfold: (foldId: string) => void
}

function Drawing({ layout, top, bottom, selected, onSelect, onUnfold }: DrawingProps) {
  const rows = layout.rows.filter(({ y }) => y >= top && y <= bottom)
  const bars = layout.bars.filter((bar) => bar.bottom >= top && bar.top <= bottom)
  const [lineTop, lineBottom] = [Math.max(0, top), Math.min(layout.height, bottom)]
  return (
    <svg
      width={layout.width}
      height={layout.height}
      class="sequence-drawing"
      role="group"
      aria-label="Calls in their order"
    >
      <ArrowHeads />
      {layout.columns.map(({ id, x }) => (
        <line key={id} class="lifeline" x1={x} x2={x} y1={lineTop} y2={lineBottom} />
      ))}
      {bars.map((bar) => (
        <Bar key={bar.call.id} bar={bar} layout={layout} isSelected={bar.call.id === selected} onSelect={onSelect} />
      ))}
      {rows.map((row) =>
        row.kind === 'fold' ? (
          <FoldRow key={row.fold.id} row={row} layout={layout} onUnfold={onUnfold} />
        ) : (
          <Arrow
            key={`${row.kind} ${row.call.id}`}
            row={row}
            layout={layout}
            isSelected={row.call.id === selected}
            onSelect={onSelect}
          />
        ),
      )}
    </svg>
  )
}

/** Keeps the lanes of the selected call in view, also when the panel beside it takes some of the width. */
function useShowSelected(scrolled: HTMLElement | null, layout: SequenceLayout, selected: string, zoom: number): void {
  useEffect(() => {
    const row = layout.rows.find((each) => each.kind === 'call' && each.call.id === selected)
    if (!scrolled || !row) return
    const show = () => {
      const lanes = [row.from, row.to].map((column) => (layout.columns[column]?.x ?? 0) * zoom)
      scrollInto(scrolled, 'Left', Math.min(...lanes) - LANE_ROOM, Math.max(...lanes) + LANE_ROOM, scrolled.clientWidth)
      scrollInto(scrolled, 'Top', row.y * zoom - ROW_ROOM, row.y * zoom + HEAD_HEIGHT + ROW_ROOM, scrolled.clientHeight)
    }
    const observer = new ResizeObserver(show)
    observer.observe(scrolled)
    return () => observer.disconnect()
  }, [selected, layout, zoom, scrolled])
}

const LANE_ROOM = 60
const ROW_ROOM = 20

/** Scrolls as little as possible to show the whole range, or its start if it is too large. */
function scrollInto(element: HTMLElement, side: 'Left' | 'Top', from: number, to: number, room: number): void {
  const name = `scroll${side}` as const
  if (to > element[name] + room) element[name] = to - room
  if (from < element[name]) element[name] = Math.max(0, from)
}

function moveSelection(
  event: KeyboardEvent,
  { rows }: SequenceLayout,
  selected: string,
  onSelect: (callId: string) => void,
): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const calls = rows.flatMap((row) => (row.kind === 'call' ? [row.call.id] : []))
  const index = calls.indexOf(selected)
  const next = index === -1 ? calls[0] : calls[Math.max(0, Math.min(calls.length - 1, index + step))]
  if (next) onSelect(next)
}
