import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Call, CallTree } from '../../../src/trace/call-tree.ts'
import { Rows, useViewport } from '../components/virtual-list.tsx'
import { formatDuration, participantName } from '../format.ts'

const ROW_HEIGHT = 26
const TICKS = [0, 0.25, 0.5, 0.75, 1]

interface WaterfallProps {
  readonly tree: CallTree
  readonly size: number
  /** Unix seconds. */
  readonly startedAt: number
  readonly durationMs: number | null
  readonly firstTextMs: number | null
  readonly selected: string
  readonly onSelect: (callId: string) => void
}

/** The calls of a run as bars over time, each below who called it. */
export function Waterfall({ tree, size, startedAt, durationMs, firstTextMs, selected, onSelect }: WaterfallProps) {
  const calls = useMemo(() => inTreeOrder(tree), [tree, size])
  const place = useRef<HTMLDivElement>(null)
  const viewport = useViewport(place)
  const latest = Math.max(0, ...calls.map(({ endedAt, startedAt: begun }) => ((endedAt ?? begun) - startedAt) * 1000))
  const totalMs = Math.max(durationMs ?? 0, latest, 0.01)
  useEffect(() => {
    const index = calls.findIndex(({ id }) => id === selected)
    const { current } = place
    if (index < 0 || !current) return
    const top = index * ROW_HEIGHT
    if (top < current.scrollTop || top > current.scrollTop + current.clientHeight - 2 * ROW_HEIGHT)
      current.scrollTop = top - current.clientHeight / 2
  }, [selected])
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const index = calls.findIndex(({ id }) => id === selected)
    const next = calls[Math.max(0, Math.min(calls.length - 1, index + step))]
    if (next) onSelect(next.id)
  }
  const mark = firstTextMs === null ? undefined : Math.min(firstTextMs / totalMs, 1)
  return (
    <div class="waterfall">
      <div class="waterfall-scale" aria-hidden="true">
        <span />
        <div class="ticks">
          {TICKS.map((share) => (
            <span key={share} data-edge={share} style={{ left: `${share * 100}%` }}>
              {formatDuration(share * totalMs)}
            </span>
          ))}
        </div>
        <span />
      </div>
      <div class="waterfall-rows" ref={place} tabIndex={0} role="group" aria-label="Calls over time" onKeyDown={move}>
        {mark !== undefined && (
          <div class="first-text" style={{ '--at': String(mark) }}>
            <span>first text {formatDuration(firstTextMs)}</span>
          </div>
        )}
        <Rows count={calls.length} rowHeight={ROW_HEIGHT} viewport={viewport}>
          {(index) => {
            const call = calls[index]
            return (
              call && (
                <WaterfallRow
                  key={call.id}
                  call={call}
                  startedAt={startedAt}
                  totalMs={totalMs}
                  isSelected={call.id === selected}
                  onSelect={onSelect}
                />
              )
            )
          }}
        </Rows>
      </div>
    </div>
  )
}

interface WaterfallRowProps {
  readonly call: Call
  readonly startedAt: number
  readonly totalMs: number
  readonly isSelected: boolean
  readonly onSelect: (callId: string) => void
}

function WaterfallRow({ call, startedAt, totalMs, isSelected, onSelect }: WaterfallRowProps) {
  const left = Math.max(0, ((call.startedAt - startedAt) * 1000) / totalMs)
  const width = call.durationMs === undefined ? 1 - left : call.durationMs / totalMs
  return (
    <button
      type="button"
      class={`waterfall-row ${call.status}`}
      data-selected={isSelected}
      tabIndex={-1}
      aria-pressed={isSelected}
      onClick={() => onSelect(call.id)}
    >
      <span class="waterfall-name" style={{ paddingLeft: `${Math.min(call.depth, 12) * 14}px` }}>
        {participantName(call.moduleId)}
        <span class="muted">.{call.method}</span>
      </span>
      <span class="waterfall-track">
        <span
          class="waterfall-bar"
          style={{ left: `${left * 100}%`, width: `${Math.max(0, Math.min(width, 1 - left)) * 100}%` }}
        />
      </span>
      <span class="waterfall-time">{call.status === 'running' ? 'running' : formatDuration(call.durationMs)}</span>
    </button>
  )
}

function inTreeOrder(tree: CallTree): Call[] {
  const ordered: Call[] = []
  const rest = [...tree.roots].reverse()
  for (let call = rest.pop(); call; call = rest.pop()) {
    ordered.push(call)
    for (const child of [...call.children].reverse()) rest.push(child)
  }
  return ordered
}
