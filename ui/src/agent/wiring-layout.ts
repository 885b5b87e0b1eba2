import { Graph, layout } from '@dagrejs/dagre'

export interface ModuleSummary {
  readonly id: string
  readonly module: string
  readonly source: string
}

export interface ExchangeRow {
  readonly module: string
  readonly protocol: string
  readonly provider: string
  readonly fieldName: string | null
}

export interface WiringNode {
  readonly id: string
  readonly title: string
  readonly subtitle: string
  /** `module`, or a node that is not a module: the entry, or a provider of the run. */
  readonly kind: 'module' | 'entry' | 'run'
  readonly source: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface WiringEdge {
  readonly from: string
  readonly to: string
  readonly protocols: readonly string[]
  readonly points: readonly { readonly x: number; readonly y: number }[]
  readonly label: { readonly x: number; readonly y: number; readonly width: number }
}

export interface WiringLayout {
  readonly nodes: readonly WiringNode[]
  readonly edges: readonly WiringEdge[]
  readonly width: number
  readonly height: number
}

const CHAR = 7.2
const SMALL_CHAR = 6.4
const TITLES: Readonly<Record<string, string>> = {
  __entry__: 'entry',
  __response__: 'response',
  __conversation__: 'conversation',
}

/** Places modules from left to right, each before its dependencies. In pixels. */
export function layoutWiring(modules: readonly ModuleSummary[], exchange: readonly ExchangeRow[]): WiringLayout {
  const graph = new Graph({ multigraph: false })
  graph.setGraph({ rankdir: 'LR', nodesep: 26, ranksep: 24, marginx: 16, marginy: 16 })
  graph.setDefaultEdgeLabel(() => ({}))
  const byId = new Map(modules.map((module) => [module.id, module]))
  const others = exchange.flatMap(({ module, provider }) => [module, provider]).filter((id) => !byId.has(id))
  for (const id of [...byId.keys(), ...new Set(others)]) {
    const { title, subtitle } = describe(id, byId.get(id))
    const width = Math.max(title.length * CHAR, subtitle.length * SMALL_CHAR) + 32
    graph.setNode(id, { width: Math.min(Math.max(width, 90), 240), height: subtitle ? 52 : 36 })
  }
  const protocols = new Map<string, string[]>()
  for (const { module, provider, protocol } of exchange) {
    const key = `${module}\n${provider}`
    protocols.set(key, [...new Set([...(protocols.get(key) ?? []), protocol])])
  }
  for (const [key, names] of protocols) {
    const [from = '', to = ''] = key.split('\n')
    const width = names.join(', ').length * SMALL_CHAR + 12
    graph.setEdge(from, to, { width, height: 18, labelpos: 'c' })
  }
  layout(graph)
  const nodes = graph.nodes().map((id: string): WiringNode => {
    const { x, y, width, height } = graph.node(id) as WiringNode
    const module = byId.get(id)
    const kind = module ? 'module' : id === '__entry__' ? 'entry' : 'run'
    return { id, ...describe(id, module), kind, source: module?.source ?? '', x, y, width, height }
  })
  const edges = graph.edges().map(({ v, w }: { v: string; w: string }): WiringEdge => {
    const { points, x, y, width } = graph.edge(v, w) as {
      points: WiringEdge['points']
      x: number
      y: number
      width: number
    }
    return { from: v, to: w, protocols: protocols.get(`${v}\n${w}`) ?? [], points, label: { x, y, width } }
  })
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return { nodes, edges, width, height }
}

function describe(id: string, module: ModuleSummary | undefined): { title: string; subtitle: string } {
  return module ? { title: id, subtitle: module.module } : { title: TITLES[id] ?? id, subtitle: '' }
}
