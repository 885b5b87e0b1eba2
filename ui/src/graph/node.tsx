import { formatDuration } from '../../../src/wire/format-duration.ts'
import { type IconName, pathOf } from '../components/icon.tsx'
import { formatCount } from '../format.ts'
import type { NodeFlow } from './flow.ts'
import { FIGURES_ROOM, type GraphNode, ICON_ROOM } from './graph-layout.ts'

interface NodeProps {
  readonly node: GraphNode
  readonly flow: NodeFlow | undefined
  readonly isSelected: boolean
  readonly isDimmed: boolean
  readonly onSelect: (module: string) => void
  readonly onHover: (module: string) => void
}

const ICON = 30
const PADDING = 10

/** A module as a card that lights up while it works, with the number and the time of its calls. */
export function Node({ node, flow, isSelected, isDimmed, onSelect, onHover }: NodeProps) {
  const { id, kind, source, x, y, width, height } = node
  const left = x - width / 2
  const top = y - height / 2
  const state = flow?.hasFailed ? 'failed' : flow?.isActive ? 'active' : flow && flow.calls > 0 ? 'done' : 'idle'
  const shape = (
    <>
      <rect class="node-glow" x={left} y={top} width={width} height={height} rx={14} opacity={flow?.glow ?? 0} />
      <rect class="node-card" x={left} y={top} width={width} height={height} rx={kind === 'entry' ? height / 2 : 10} />
      {kind === 'entry' ? (
        <text class="node-title" x={x} y={y + 5} text-anchor="middle">
          {node.title}
        </text>
      ) : (
        <Content node={node} flow={flow} left={left} />
      )}
    </>
  )
  const shared = { 'data-state': state, 'data-dimmed': isDimmed }
  if (kind === 'entry') {
    return (
      <g class="node kind-response entry" {...shared}>
        {shape}
      </g>
    )
  }
  const select = () => onSelect(isSelected ? '' : id)
  return (
    <g
      class={`node module kind-${kind} source-${source}`}
      {...shared}
      role="button"
      tabindex={0}
      aria-pressed={isSelected}
      onClick={select}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        select()
      }}
      onPointerEnter={() => onHover(id)}
      onPointerLeave={() => onHover('')}
      onFocus={() => onHover(id)}
      onBlur={() => onHover('')}
    >
      {shape}
    </g>
  )
}

function Content({ node, flow, left }: { node: GraphNode; flow: NodeFlow | undefined; left: number }) {
  const { title, subtitle, kind, y, width } = node
  const text = left + PADDING + ICON + PADDING
  const right = left + width - PADDING
  const room = width - ICON_ROOM - FIGURES_ROOM
  return (
    <>
      <rect class="node-icon-back" x={left + PADDING} y={y - ICON / 2} width={ICON} height={ICON} rx={8} />
      <g class="node-icon" transform={`translate(${left + PADDING + ICON / 2 - 9} ${y - 9}) scale(0.75)`}>
        <path d={pathOf(`kind-${kind}` as IconName)} />
      </g>
      <text class="node-title" x={text} y={subtitle ? y - 3 : y + 5}>
        {cut(title, room, 7.4)}
      </text>
      {/* So that the name is read as several words. */}{' '}
      {subtitle && (
        <text class="node-subtitle" x={text} y={y + 15}>
          {cut(subtitle, room, 7.2)}
        </text>
      )}
      {flow && flow.calls > 0 && (
        <>
          {' '}
          <text class="node-count" x={right} y={y - 3} text-anchor="end">
            {flow.hasFailed ? '✕ ' : ''}×{formatCount(flow.calls)}
          </text>{' '}
          <text class="node-time" x={right} y={y + 15} text-anchor="end">
            {formatDuration(flow.busyMs)}
          </text>
        </>
      )}
    </>
  )
}

function cut(text: string, width: number, charWidth: number): string {
  const room = Math.max(4, Math.floor(width / charWidth))
  return text.length > room ? `${text.slice(0, room - 1)}…` : text
}
