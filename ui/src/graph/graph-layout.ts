import { Graph, layout } from '@dagrejs/dagre'
import type { CallKind } from '../../../src/trace/calls/describe-event.ts'

export interface ModuleSummary {
  readonly id: string
  readonly module: string
  readonly source: string
  /** Names of protocols; null where the page may not know them. */
  readonly provides: readonly string[] | null
  /** Kind of its calls, where its protocols are not known. */
  readonly kind?: CallKind
}

export interface ExchangeRow {
  readonly module: string
  readonly protocol: string
  readonly provider: string
  readonly fieldName: string | null
}

export interface GraphNode {
  readonly id: string
  readonly title: string
  readonly subtitle: string
  /** `entry`: whoever asks the agent. */
  readonly kind: CallKind | 'entry'
  readonly source: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface GraphEdge {
  /** `<from> <to>` */
  readonly key: string
  readonly from: string
  readonly to: string
  readonly protocols: readonly string[]
  /** As an SVG path. */
  readonly path: string
  /** Points of the path, at equal steps of each of its curves. */
  readonly points: readonly Point[]
}

/** Frame around the modules of an agent that another called. */
export interface GraphGroup {
  readonly agent: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface GraphLayout {
  readonly nodes: readonly GraphNode[]
  readonly groups: readonly GraphGroup[]
  readonly edges: readonly GraphEdge[]
  readonly width: number
  readonly height: number
}

export type Direction = 'LR' | 'TB'

export const ENTRY = '__entry__'
/** In the place of the module, in the id of an agent that can be called. */
export const CALLABLE = '*'
const GROUP = 'group:'
const CHAR = 7.6
const SMALL_CHAR = 7.3
/** Room for the icon at the left of a node, and for figures at its right. */
export const ICON_ROOM = 50
export const FIGURES_ROOM = 92
const HEIGHT = 58
const MAX_TEXT = 170
/** Distance between an edge and a node that it passes. */
const CLEARANCE = 8
const MAX_INSET = 40
/** Points of each curve of an edge. */
const SAMPLES = 16

/** First protocol that a module provides decides what it is. */
const KINDS: readonly (readonly [protocol: string, kind: CallKind])[] = [
  ['OutputCapture', 'response'],
  ['LLM', 'model'],
  ['ToolProvider', 'tool'],
  ['Memory', 'memory'],
  ['ConversationHistory', 'memory'],
  ['Embedder', 'memory'],
  ['VectorIndex', 'memory'],
  ['Chunker', 'memory'],
  ['TextMessageHandler', 'agent'],
  ['Response', 'response'],
]

/** Edge of an agent's graph, or of a call between two of its nodes. */
export function edgeKey(from: string, to: string): string {
  return `${from} ${to}`
}

/** Places modules in the direction of the calls, each before those that it uses. What the host itself provides is left out. In pixels. */
export function layoutGraph(
  modules: readonly ModuleSummary[],
  exchange: readonly ExchangeRow[],
  direction: Direction,
): GraphLayout {
  const wiring = readWiring(modules, exchange)
  const graph = new Graph({ multigraph: false, compound: wiring.agents.length > 0 })
  graph.setGraph({ rankdir: direction, nodesep: 20, ranksep: direction === 'LR' ? 104 : 58, marginx: 28, marginy: 28 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const agent of wiring.agents) graph.setNode(GROUP + agent, {})
  for (const { id, width, height } of wiring.nodes) {
    graph.setNode(id, { width, height })
    const agent = agentOf(id)
    if (agent !== undefined && wiring.agents.includes(agent)) graph.setParent(id, GROUP + agent)
  }
  for (const { from, to } of wiring.links) graph.setEdge(from, to, { weight: from === ENTRY ? 4 : 1 })
  layout(graph)
  if (isReversed(graph, wiring, direction)) mirror(graph, direction)
  const placed = wiring.nodes.map((node): GraphNode => {
    const { x, y } = graph.node(node.id) as GraphNode
    return { ...node, x, y }
  })
  const nodes = direction === 'LR' ? placed.map((node) => widen(node, placed)) : placed
  const groups = wiring.agents.map((agent): GraphGroup => {
    const { x, y, width, height } = graph.node(GROUP + agent) as GraphGroup
    return { agent, x, y, width, height }
  })
  const edges = drawEdges(wiring, nodes, (from, to) => {
    const [start, end] = [portOf(from, direction, 1), portOf(to, direction, -1)]
    const straight = draw([start, end], direction)
    if (!nodes.some((node) => node !== from && node !== to && isCrossed(node, straight.points))) return straight
    const bends = (graph.edge(from.id, to.id) as { points: readonly Point[] }).points.slice(1, -1)
    return draw([start, ...roundOff(bends, direction), end], direction)
  })
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return { nodes, groups, edges, width, height }
}

/** Axis along which the nodes of one rank stand beside each other. */
function crossAxis(direction: Direction): 'x' | 'y' {
  return direction === 'LR' ? 'y' : 'x'
}

/** Tells whether most modules that the same one uses stand in the reverse of the order that the wiring has them in. */
function isReversed(graph: Graph, { links }: Wiring, direction: Direction): boolean {
  const axis = crossAxis(direction)
  const place = (id: string) => (graph.node(id) as Point)[axis]
  const steps = links.flatMap(({ from, to }, index) => {
    const next = links.slice(index + 1).find((link) => link.from === from)
    return next ? [Math.sign(place(next.to) - place(to))] : []
  })
  return steps.reduce((sum, step) => sum + step, 0) < 0
}

/** Turns the drawing over, so that what stood first in each rank stands last. */
function mirror(graph: Graph, direction: Direction): void {
  const axis = crossAxis(direction)
  const size = (graph.graph() as { width: number; height: number })[direction === 'LR' ? 'height' : 'width']
  const turn = (point: { x: number; y: number }) => {
    point[axis] = size - point[axis]
  }
  for (const id of graph.nodes()) turn(graph.node(id) as GraphNode)
  for (const edge of graph.edges()) for (const point of (graph.edge(edge) as { points: Point[] }).points) turn(point)
}

/** Makes a node as wide as the widest of its column. */
function widen(node: GraphNode, nodes: readonly GraphNode[]): GraphNode {
  if (node.kind === 'entry') return node
  const column = nodes.filter(({ x, kind }) => x === node.x && kind !== 'entry')
  return { ...node, width: Math.max(...column.map(({ width }) => width)) }
}

/** Moves the outermost bends of an edge towards each other, so that it turns in wide curves. */
function roundOff(bends: readonly Point[], direction: Direction): readonly Point[] {
  const axis = direction === 'LR' ? 'x' : 'y'
  const [first, last] = [bends[0], bends.at(-1)]
  if (!first || !last || first === last) return bends
  const inset = Math.min(MAX_INSET, (last[axis] - first[axis]) / 4)
  return [{ ...first, [axis]: first[axis] + inset }, ...bends.slice(1, -1), { ...last, [axis]: last[axis] - inset }]
}

/** Tells whether a line passes over a node, or touches it. */
function isCrossed({ x, y, width, height }: GraphNode, points: readonly Point[]): boolean {
  return points.some(
    (point) => Math.abs(point.x - x) < width / 2 + CLEARANCE && Math.abs(point.y - y) < height / 2 + CLEARANCE,
  )
}

/** Places modules below each other, each after those that use it and further to the right: for narrow frames. In pixels. */
export function stackGraph(modules: readonly ModuleSummary[], exchange: readonly ExchangeRow[]): GraphLayout {
  const wiring = readWiring(modules, exchange)
  const depths = depthsOf(wiring)
  const placed = new Map<string, GraphNode>()
  let bottom = STACK.margin
  let before: string | undefined
  for (const [id, depth] of depths) {
    const node = wiring.nodes.find((each) => each.id === id)
    if (!node) continue
    if (agentOf(id) !== before) bottom += STACK.group
    before = agentOf(id)
    const left = STACK.margin + depth * STACK.indent
    placed.set(id, { ...node, x: left + node.width / 2, y: bottom + node.height / 2 })
    bottom += node.height + STACK.gap
  }
  const nodes = [...placed.values()]
  const edges = drawEdges(wiring, nodes, (from, to) => {
    const x = leftOf(from) + STACK.indent / 2
    const stops = [{ x, y: from.y + from.height / 2 }, { x, y: to.y }, portOf(to, 'LR', -1)]
    return draw(stops, 'TB')
  })
  const groups = wiring.agents.map((agent) => frameOf(agent, nodes))
  const width = Math.max(0, ...nodes.map(rightOf)) + STACK.margin
  return { nodes, groups, edges, width, height: bottom - STACK.gap + STACK.margin }
}

const STACK = { margin: 20, indent: 26, gap: 14, group: 28 }

interface Wiring {
  readonly nodes: readonly Omit<GraphNode, 'x' | 'y'>[]
  readonly links: readonly { readonly from: string; readonly to: string; readonly protocols: readonly string[] }[]
  /** Those that another called. */
  readonly agents: readonly string[]
}

/** Modules and the links between them, without what the host itself provides. */
function readWiring(modules: readonly ModuleSummary[], exchange: readonly ExchangeRow[]): Wiring {
  const byId = new Map(modules.map((module) => [module.id, module]))
  const rows = exchange.filter(({ module, provider }) => isDrawn(module) && isDrawn(provider))
  const ids = new Set([...rows.map(({ module }) => module), ...byId.keys(), ...rows.map(({ provider }) => provider)])
  const links = new Map<string, { from: string; to: string; protocols: string[] }>()
  for (const { module, provider, protocol } of rows) {
    const key = edgeKey(module, provider)
    const { protocols = [] } = links.get(key) ?? {}
    links.set(key, { from: module, to: provider, protocols: [...new Set([...protocols, protocol])] })
  }
  return {
    nodes: [...ids].map((id) => ({ id, ...describe(id, byId.get(id)), ...sizeOf(id, byId.get(id)) })),
    links: [...links.values()],
    agents: [...new Set([...ids].filter((id) => moduleOf(id) !== CALLABLE).flatMap((id) => agentOf(id) ?? []))],
  }
}

function drawEdges(
  { links }: Wiring,
  nodes: readonly GraphNode[],
  route: (from: GraphNode, to: GraphNode) => Pick<GraphEdge, 'path' | 'points'>,
): GraphEdge[] {
  const placed = new Map(nodes.map((node) => [node.id, node]))
  return links.flatMap((link) => {
    const [from, to] = [placed.get(link.from), placed.get(link.to)]
    return from && to ? [{ key: edgeKey(link.from, link.to), ...link, ...route(from, to) }] : []
  })
}

/** Longest way to each node, by its id; each after those that use it, as far as they do not use each other. */
function depthsOf({ nodes, links }: Wiring): Map<string, number> {
  const order: string[] = []
  const seen = new Set<string>()
  const visit = (id: string) => {
    if (seen.has(id)) return
    seen.add(id)
    for (const { from, to } of links.toReversed()) if (from === id) visit(to)
    order.unshift(id)
  }
  const used = new Set(links.map(({ to }) => to))
  const roots = nodes.filter(({ id }) => !used.has(id))
  // The last one comes first, for each is put before those that are there. Modules that use each other have no root.
  for (const { id } of [...roots.toReversed(), ...nodes]) visit(id)
  const depths = new Map(order.map((id) => [id, 0]))
  for (const id of order) {
    for (const { from, to } of links) {
      if (from === id && order.indexOf(to) > order.indexOf(id))
        depths.set(to, Math.max(depths.get(to) ?? 0, (depths.get(id) ?? 0) + 1))
    }
  }
  return depths
}

function leftOf({ x, width }: GraphNode): number {
  return x - width / 2
}

function rightOf({ x, width }: GraphNode): number {
  return x + width / 2
}

/** Frame around the modules of an agent that another called, with room for its name. */
function frameOf(agent: string, nodes: readonly GraphNode[]): GraphGroup {
  const own = nodes.filter(({ id }) => agentOf(id) === agent)
  const [left, right] = [Math.min(...own.map(leftOf)) - 10, Math.max(...own.map(rightOf)) + 10]
  const top = Math.min(...own.map(({ y, height }) => y - height / 2)) - STACK.group
  const bottom = Math.max(...own.map(({ y, height }) => y + height / 2)) + 8
  return { agent, x: (left + right) / 2, y: (top + bottom) / 2, width: right - left, height: bottom - top }
}

/**
 * Adds the modules that a run called and the wiring does not name: those of agents that it called, and of an agent that has changed
 * since.
 *
 * @param kinds of the calls, by module
 */
export function withCalled(
  modules: readonly ModuleSummary[],
  exchange: readonly ExchangeRow[],
  called: readonly ExchangeRow[],
  kinds: Readonly<Record<string, CallKind>>,
): { readonly modules: readonly ModuleSummary[]; readonly exchange: readonly ExchangeRow[] } {
  const known = new Set(modules.map(({ id }) => id))
  const linked = new Set(exchange.map(({ module, provider }) => edgeKey(module, provider)))
  const links = called.filter(({ module, provider }) => !linked.has(edgeKey(module, provider)))
  const missing = [...new Set(links.flatMap(({ module, provider }) => [module, provider]))].filter(
    (id) => isDrawn(id) && id !== ENTRY && !known.has(id),
  )
  const added = missing.map((id) => {
    const kind = kinds[id]
    return { id, module: '', source: '', provides: null, ...(kind ? { kind } : {}) }
  })
  // A run that calls an agent shows its modules.
  const calledAgents = new Set(added.flatMap(({ id }) => agentOf(id) ?? []))
  const isShown = (id: string) => moduleOf(id) === CALLABLE && calledAgents.has(agentOf(id) ?? '')
  return {
    modules: [...modules.filter(({ id }) => !isShown(id)), ...added],
    exchange: [...exchange.filter(({ provider }) => !isShown(provider)), ...links],
  }
}

/** Returns the point at a share of an edge, from 0 at its beginning to 1. */
export function pointAt({ points }: GraphEdge, share: number): Point {
  const last = points.length - 1
  const at = Math.max(0, Math.min(1, share)) * last
  const [from, to] = [points[Math.floor(at)], points[Math.min(last, Math.floor(at) + 1)]]
  if (!from || !to) return { x: 0, y: 0 }
  const rest = at - Math.floor(at)
  return { x: from.x + (to.x - from.x) * rest, y: from.y + (to.y - from.y) * rest }
}

/** Tells whether a node is part of the picture: conversation, response and storage of the host are no modules. */
function isDrawn(id: string): boolean {
  return id === ENTRY || !moduleOf(id).startsWith('__')
}

/** Agent that another called, of the id of one of its modules; undefined for a module of the agent itself. */
export function agentOf(id: string): string | undefined {
  const cut = id.indexOf('/')
  return cut === -1 ? undefined : id.slice(0, cut)
}

/** Id of a module within its agent. */
export function moduleOf(id: string): string {
  return id.slice(id.indexOf('/') + 1)
}

function sizeOf(id: string, module: ModuleSummary | undefined): { width: number; height: number } {
  const { title, subtitle, kind } = describe(id, module)
  if (kind === 'entry') return { width: 92, height: 40 }
  const text = Math.min(MAX_TEXT, Math.max(title.length * CHAR, subtitle.length * SMALL_CHAR))
  return { width: Math.round(Math.max(190, ICON_ROOM + text + FIGURES_ROOM)), height: HEIGHT }
}

function describe(
  id: string,
  module: ModuleSummary | undefined,
): Pick<GraphNode, 'title' | 'subtitle' | 'kind' | 'source'> {
  if (id === ENTRY) return { title: 'User', subtitle: '', kind: 'entry', source: '' }
  const kind = KINDS.find(([protocol]) => module?.provides?.includes(protocol))?.[1] ?? module?.kind ?? 'module'
  const title = moduleOf(id) === CALLABLE ? (agentOf(id) ?? '') : moduleOf(id)
  return { title, subtitle: module?.module ?? '', kind, source: module?.source ?? '' }
}

/** Middle of the side at which an edge leaves (1) or arrives (-1). */
function portOf({ x, y, width, height }: GraphNode, direction: Direction, side: 1 | -1): Point {
  return direction === 'LR' ? { x: x + (side * width) / 2, y } : { x, y: y + (side * height) / 2 }
}

/** Curves through every stop, which leave and arrive in the direction of the graph. */
function draw(stops: readonly Point[], direction: Direction): Pick<GraphEdge, 'path' | 'points'> {
  const [first, ...rest] = stops
  if (!first) return { path: '', points: [] }
  let from = first
  const points: Point[] = [first]
  const curves = rest.map((to) => {
    const [dx, dy] = direction === 'LR' ? [(to.x - from.x) / 2, 0] : [0, (to.y - from.y) / 2]
    const [one, two] = [
      { x: from.x + dx, y: from.y + dy },
      { x: to.x - dx, y: to.y - dy },
    ]
    for (let step = 1; step <= SAMPLES; step++) points.push(bezier([from, one, two, to], step / SAMPLES))
    from = to
    return `C${one.x} ${one.y} ${two.x} ${two.y} ${to.x} ${to.y}`
  })
  return { path: `M${first.x} ${first.y}${curves.join('')}`, points }
}

function bezier([a, b, c, d]: readonly [Point, Point, Point, Point], t: number): Point {
  const u = 1 - t
  const [i, j, k, l] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t]
  return { x: i * a.x + j * b.x + k * c.x + l * d.x, y: i * a.y + j * b.y + k * c.y + l * d.y }
}
