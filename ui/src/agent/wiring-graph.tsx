import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { IconButton } from '../components/icon-button.tsx'
import {
  type ExchangeRow,
  layoutWiring,
  type ModuleSummary,
  type WiringEdge,
  type WiringLayout,
  type WiringNode,
} from './wiring-layout.ts'

interface WiringGraphProps {
  readonly modules: readonly ModuleSummary[]
  readonly exchange: readonly ExchangeRow[]
  readonly selected: string
  readonly onSelect: (module: string) => void
}

const ZOOMS = [0.4, 0.5, 0.67, 0.8, 1, 1.25, 1.5]

/** Modules, and who uses which of them by which protocol. It is drawn in its own size, scrolled, and zoomed when asked. */
export function WiringGraph({ modules, exchange, selected, onSelect }: WiringGraphProps) {
  const layout = useMemo(() => layoutWiring(modules, exchange), [modules, exchange])
  const [zoom, setZoom] = useState(1)
  const frame = useRef<HTMLDivElement>(null)
  const step = (by: number) => setZoom(ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, ZOOMS.indexOf(zoom) + by))] ?? 1)
  const fit = () => {
    const room = (frame.current?.clientWidth ?? layout.width) / layout.width
    setZoom(ZOOMS.findLast((each) => each <= room) ?? 0.4)
  }
  const fill = () => {
    if (document.fullscreenElement) void document.exitFullscreen()
    else void frame.current?.requestFullscreen()
  }
  return (
    <div class="graph-frame" ref={frame}>
      <div class="view-tools" role="toolbar" aria-label="Graph">
        <IconButton icon="minus" label="Zoom out" isDisabled={zoom === ZOOMS[0]} onClick={() => step(-1)} />
        <span class="muted figure-text">{Math.round(zoom * 100)} %</span>
        <IconButton icon="plus" label="Zoom in" isDisabled={zoom === ZOOMS.at(-1)} onClick={() => step(1)} />
        <button type="button" class="link" onClick={fit}>
          Fit
        </button>
        <IconButton icon="fit" label="Full screen" onClick={fill} />
        {selected === '' && <span class="muted graph-hint">Choose a module to see its config, source and tools.</span>}
      </div>
      <Drawing layout={layout} zoom={zoom} selected={selected} onSelect={onSelect} />
    </div>
  )
}

interface DrawingProps {
  readonly layout: WiringLayout
  readonly zoom: number
  readonly selected: string
  readonly onSelect: (module: string) => void
}

function Drawing({ layout, zoom, selected, onSelect }: DrawingProps) {
  const { nodes, edges, width, height } = layout
  const scrolled = useRef<HTMLDivElement>(null)
  useEffect(() => {
    scrolled.current?.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [selected, layout])
  const drag = (event: PointerEvent) => {
    if (event.buttons !== 1 || event.pointerType !== 'mouse') return
    scrolled.current?.scrollBy(-event.movementX, -event.movementY)
  }
  return (
    <div
      class="graph-scroll"
      ref={scrolled}
      tabIndex={0}
      role="group"
      aria-label="Modules; each can be chosen"
      onPointerMove={drag}
    >
      <svg
        class="graph"
        viewBox={`0 0 ${width} ${height}`}
        width={width * zoom}
        height={height * zoom}
        role="group"
        aria-label="Wiring"
      >
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path d="M1 1 7 4 1 7" class="arrow-head" />
          </marker>
        </defs>
        {edges.map((edge) => (
          <Edge key={`${edge.from} ${edge.to}`} edge={edge} isLit={selected === edge.from || selected === edge.to} />
        ))}
        {nodes.map((node) => (
          <Node key={node.id} node={node} isSelected={node.id === selected} onSelect={onSelect} />
        ))}
      </svg>
    </div>
  )
}

function Edge({ edge, isLit }: { edge: WiringEdge; isLit: boolean }) {
  const { points, label, protocols } = edge
  const text = protocols.join(', ')
  return (
    <g class="edge" data-lit={isLit}>
      <path d={smooth(points)} marker-end="url(#arrow)" />
      <rect x={label.x - label.width / 2} y={label.y - 9} width={label.width} height={18} rx={9} />
      <text x={label.x} y={label.y + 4} text-anchor="middle">
        {text}
      </text>
    </g>
  )
}

interface NodeProps {
  readonly node: WiringNode
  readonly isSelected: boolean
  readonly onSelect: (module: string) => void
}

function Node({ node, isSelected, onSelect }: NodeProps) {
  const { id, title, subtitle, kind, source, x, y, width, height } = node
  const shape = (
    <>
      <rect
        x={x - width / 2}
        y={y - height / 2}
        width={width}
        height={height}
        rx={kind === 'module' ? 10 : height / 2}
      />
      <text class="node-title" x={x} y={subtitle ? y - 3 : y + 4} text-anchor="middle">
        {cut(title, width, 7.2)}
      </text>
      {/* So that it is read as two words. */}{' '}
      {subtitle && (
        <text class="node-subtitle" x={x} y={y + 15} text-anchor="middle">
          {cut(subtitle, width, 6.4)}
        </text>
      )}
    </>
  )
  if (kind !== 'module') return <g class={`node ${kind}`}>{shape}</g>
  const select = () => onSelect(isSelected ? '' : id)
  const selectByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    select()
  }
  return (
    <g
      class={`node module source-${source}`}
      role="button"
      tabindex={0}
      aria-pressed={isSelected}
      onClick={select}
      onKeyDown={selectByKey}
    >
      {shape}
    </g>
  )
}

function cut(text: string, width: number, charWidth: number): string {
  const room = Math.floor((width - 20) / charWidth)
  return text.length > room ? `${text.slice(0, room - 1)}…` : text
}

/** Through every point, flat where it leaves and arrives: the label stands on the line. */
function smooth(points: WiringEdge['points']): string {
  const [first, ...rest] = points
  if (!first) return ''
  let from = first
  const curves = rest.map((to) => {
    const bend = (to.x - from.x) / 2
    const curve = `C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`
    from = to
    return curve
  })
  return `M${first.x} ${first.y}${curves.join('')}`
}
