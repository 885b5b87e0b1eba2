import type { FlowState, Travel } from './flow.ts'
import { type GraphEdge, pointAt } from './graph-layout.ts'

const LABEL_CHAR = 6.7
const MAX_LABEL = 30

interface EdgeProps {
  readonly edge: GraphEdge
  readonly flow: FlowState | undefined
  /** It begins or ends at the module under the pointer. */
  readonly isLit: boolean
  /** Narrow frames have no room for names. */
  readonly hasLabel: boolean
  /** Says by which protocols it goes. */
  readonly isNamed: boolean
}

/** Way from a module to one that it uses; it names the call that is at work, or the protocols when asked. */
export function Edge({ edge, flow, isLit, hasLabel, isNamed }: EdgeProps) {
  const working = flow?.labels.get(edge.key)
  const label = isNamed ? edge.protocols.join(', ') : working
  return (
    <g class="edge" data-key={edge.key} data-lit={isLit} data-working={working !== undefined}>
      <path d={edge.path} />
      {hasLabel && label && <Label edge={edge} text={label} />}
    </g>
  )
}

function Label({ edge, text }: { edge: GraphEdge; text: string }) {
  const { x, y } = pointAt(edge, 0.5)
  const shown = text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text
  const width = shown.length * LABEL_CHAR + 16
  return (
    <g class="edge-label">
      <rect x={x - width / 2} y={y - 11} width={width} height={22} rx={11} />
      <text x={x} y={y + 4} text-anchor="middle">
        {shown}
      </text>
    </g>
  )
}

/** Calls and results on their way. */
export function Travels({ travels, edges }: { travels: readonly Travel[]; edges: readonly GraphEdge[] }) {
  const byKey = new Map(edges.map((edge) => [edge.key, edge]))
  return (
    <g class="travels">
      {travels.map(({ id, edge: key, share, kind }) => {
        const edge = byKey.get(key)
        if (!edge) return null
        const { x, y } = pointAt(edge, share)
        return (
          <g key={id} class={`travel kind-${kind}`} transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}>
            <circle class="travel-halo" r={9} />
            <circle r={4} />
          </g>
        )
      })}
    </g>
  )
}
