import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { IconButton } from '../components/icon-button.tsx'
import { useViewport } from '../components/virtual-list.tsx'
import { Edge, Travels } from './edge.tsx'
import type { FlowState } from './flow.ts'
import {
  type ExchangeRow,
  type GraphGroup,
  type GraphLayout,
  layoutGraph,
  type ModuleSummary,
  stackGraph,
} from './graph-layout.ts'
import { Node } from './node.tsx'
import { NodeCard } from './node-card.tsx'
import '../styles/graph.css'

interface GraphViewProps {
  readonly modules: readonly ModuleSummary[]
  readonly exchange: readonly ExchangeRow[]
  readonly selected: string
  /** A run at a moment; undefined where none is shown. */
  readonly flow: FlowState | undefined
  readonly onSelect: (module: string) => void
}

const MIN_ZOOM = 0.4
const MAX_ZOOM = 2
/** A small graph is not blown up, and a large one stays legible: the rest is scrolled to. */
const FITTING = { min: 0.55, max: 1.2 }
const STEP = 1.25
/** Width of a frame in which modules may stand below each other. */
const NARROW = 480
const LEGIBLE = 0.7
/** Factor by which another drawing has to be larger. */
const PREFERRED = 1.15
/** The names of more edges would cover each other: the card of the module has them. */
const MAX_NAMED = 4

/** Modules of an agent and the ways between them, fitted into its frame; over it a run at a moment. */
export function GraphView({ modules, exchange, selected, flow, onSelect }: GraphViewProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [scrolled, setScrolled] = useState<HTMLDivElement | null>(null)
  const { width, height } = useViewport(scrolled)
  const [chosenZoom, setZoom] = useState(0)
  const [hovered, setHovered] = useState('')
  const { layout, fitting } = useMemo(() => fit(modules, exchange, width, height), [modules, exchange, width, height])
  const zoom = chosenZoom || fitting
  const change = (factor: number) => setZoom(Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, zoom * factor)))
  const fill = () => {
    if (document.fullscreenElement) void document.exitFullscreen()
    else void frame.current?.requestFullscreen()
  }
  useEffect(() => {
    scrolled?.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [selected, layout])
  const drag = (event: PointerEvent) => {
    if (event.buttons === 1 && event.pointerType === 'mouse') scrolled?.scrollBy(-event.movementX, -event.movementY)
  }
  const shown = hovered || selected
  const beside = layout.edges.filter(({ from, to }) => from === shown || to === shown)
  return (
    <div class="graph-frame" ref={frame}>
      <div class="graph-tools" role="toolbar" aria-label="Graph">
        <IconButton icon="minus" label="Zoom out" isDisabled={zoom <= MIN_ZOOM} onClick={() => change(1 / STEP)} />
        <span class="muted figure-text">{Math.round(zoom * 100)} %</span>
        <IconButton icon="plus" label="Zoom in" isDisabled={zoom >= MAX_ZOOM} onClick={() => change(STEP)} />
        <button type="button" class="link" onClick={() => setZoom(0)}>
          Fit
        </button>
        <IconButton icon="fit" label="Full screen" onClick={fill} />
      </div>
      <div
        class="graph-scroll"
        ref={setScrolled}
        tabIndex={0}
        role="group"
        aria-label="Modules; each can be chosen"
        onPointerMove={drag}
      >
        {width > 0 && (
          <svg
            class="graph"
            data-flowing={flow !== undefined}
            viewBox={`0 0 ${layout.width} ${layout.height}`}
            width={layout.width * zoom}
            height={layout.height * zoom}
            role="group"
            aria-label="Graph of the modules"
          >
            {layout.groups.map((group) => (
              <Group key={group.agent} group={group} />
            ))}
            {layout.edges.map((edge) => (
              <Edge
                key={edge.key}
                edge={edge}
                flow={flow}
                isLit={beside.includes(edge)}
                hasLabel={width >= NARROW}
                isNamed={beside.length <= MAX_NAMED && beside.includes(edge)}
              />
            ))}
            {flow && <Travels travels={flow.travels} edges={layout.edges} />}
            {layout.nodes.map((node) => (
              <Node
                key={node.id}
                node={node}
                flow={flow?.nodes.get(node.id)}
                isSelected={node.id === selected}
                isDimmed={hovered !== '' && hovered !== node.id && !isBeside(layout, hovered, node.id)}
                onSelect={onSelect}
                onHover={setHovered}
              />
            ))}
          </svg>
        )}
      </div>
      <NodeCard id={hovered} modules={modules} exchange={exchange} />
    </div>
  )
}

/** An agent that another called, around its modules. */
function Group({ group: { agent, x, y, width, height } }: { group: GraphGroup }) {
  return (
    <g class="graph-group">
      <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={8} />
      <text x={x - width / 2 + 12} y={y - height / 2 + 17}>
        {agent}
      </text>
    </g>
  )
}

/** Places the graph in the direction in which the frame shows more of it, or below each other where a narrow frame shows more of that. */
function fit(
  modules: readonly ModuleSummary[],
  exchange: readonly ExchangeRow[],
  width: number,
  height: number,
): { readonly layout: GraphLayout; readonly fitting: number } {
  const withRoom = (layout: GraphLayout): Fitted => ({
    layout,
    room: Math.min(width / Math.max(1, layout.width), height / Math.max(1, layout.height)),
  })
  const wide = withRoom(layoutGraph(modules, exchange, 'LR'))
  const tall = withRoom(layoutGraph(modules, exchange, 'TB'))
  // Beyond the largest zoom neither shows more.
  const flowing = Math.min(FITTING.max, tall.room) > wide.room * PREFERRED ? tall : wide
  const stacked = width < NARROW ? withRoom(stackGraph(modules, exchange)) : undefined
  const isLegible = flowing.room >= LEGIBLE
  if (!stacked || (isLegible && stacked.room < flowing.room * PREFERRED)) return fitted(flowing, FITTING.min)
  // What is below each other can be scrolled through: it need not be as small.
  return fitted(stacked, LEGIBLE)
}

function fitted({ layout, room }: Fitted, min: number): { readonly layout: GraphLayout; readonly fitting: number } {
  return { layout, fitting: Math.max(min, Math.min(FITTING.max, room)) }
}

interface Fitted {
  readonly layout: GraphLayout
  readonly room: number
}

function isBeside({ edges }: GraphLayout, one: string, other: string): boolean {
  return edges.some(({ from, to }) => (from === one && to === other) || (from === other && to === one))
}
