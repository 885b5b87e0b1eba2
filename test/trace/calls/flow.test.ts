import { expect } from 'chai'
import { CallTree } from '../../../src/trace/calls/call-tree.ts'
import { viewStep } from '../../../src/trace/calls/view-step.ts'
import { Flow } from '../../../ui/src/graph/flow.ts'
import { edgeKey, layoutGraph, pointAt, stackGraph } from '../../../ui/src/graph/graph-layout.ts'
import { findPlumbing } from '../../../ui/src/traces/plumbing.ts'
import { eventOf } from '../../support/events.ts'

/** A run of a second: `main` from 0 to 1000 ms, a model from 100 to 400, a tool that fails from 500 to 600, a text at 900. */
function flowOf(): Flow {
  const tree = new CallTree()
  const main = { call_id: 'a', module_id: 'main', caller_id: 'agent:x', parent_call_id: null }
  const model = { call_id: 'b', module_id: 'llm', caller_id: 'main', parent_call_id: 'a', protocol: 'LLM' }
  const tool = { ...model, call_id: 'c', module_id: 'shop', protocol: 'ToolProvider', method_name: 'executeTool' }
  const text = { ...model, call_id: 'd', module_id: '__response__', protocol: 'Response', method_name: 'respondText' }
  for (const [ms, step] of [
    [0, { ...main, event_type: 'call' }],
    [100, { ...model, event_type: 'call' }],
    [400, { ...model, event_type: 'result' }],
    [500, { ...tool, event_type: 'call' }],
    [600, { ...tool, event_type: 'exception', exception: 'Error: closed' }],
    [900, { ...text, event_type: 'call' }],
    [900, { ...text, event_type: 'result' }],
    [1000, { ...main, event_type: 'result' }],
  ] as const) {
    tree.add(viewStep(eventOf({ duration_ms: null, ...step, time: 1000 + ms / 1000 })))
  }
  return new Flow(tree, 1000, findPlumbing(tree))
}

describe('the flow of a run through its graph', () => {
  const nodeAt = (flow: Flow, id: string, atMs: number) => {
    const { calls = 0, busyMs = 0, isActive = false, hasFailed = false } = flow.at(atMs, 1).nodes.get(id) ?? {}
    return [calls, Math.round(busyMs), isActive, hasFailed]
  }

  it('counts calls and time of each module up to a moment, forwards and backwards', () => {
    const flow = flowOf()
    expect(nodeAt(flow, 'llm', 50)).deep.equal([0, 0, false, false])
    expect(nodeAt(flow, 'llm', 250)).deep.equal([1, 150, true, false])
    expect(nodeAt(flow, 'llm', 1000)).deep.equal([1, 300, false, false])
    expect(nodeAt(flow, 'shop', 1000)).deep.equal([1, 100, false, true])
    expect(nodeAt(flow, 'llm', 250)).deep.equal([1, 150, true, false])
    expect(nodeAt(flow, 'main', 250)).deep.equal([1, 250, true, false])
  })

  it('has calls travel to their modules, results back, and texts to the user', () => {
    const flow = flowOf()
    const travels = (atMs: number) =>
      flow.at(atMs, 1).travels.map(({ edge, share, kind }) => [edge, Math.round(share * 10) / 10, kind])
    expect(travels(110)).deep.include(['main llm', 0, 'model'])
    expect(travels(510)).deep.include(['main shop', 0, 'tool'])
    expect(travels(610)).deep.include(['main shop', 1, 'failed'])
    expect(travels(910)).deep.include(['__entry__ main', 1, 'response'])
    expect(flow.at(1000, 1, true).travels).deep.equal([])
    expect([...flow.at(550, 1).labels.keys()]).deep.equal(['__entry__ main', 'main shop'])
  })

  it('steps from call to call', () => {
    const flow = flowOf()
    const steps: number[] = []
    for (let at: number | undefined = 0; at !== undefined; at = flow.nextStepMs(at)) steps.push(Math.round(at))
    expect(steps).deep.equal([0, 100, 400, 500, 600, 1000])
  })
})

describe('layoutGraph', () => {
  it('leaves out what the host provides, and leads every edge from the side of one card to that of the other', () => {
    const modules = ['main', 'llm'].map((id) => ({ id, module: id, source: 'library', provides: null }))
    const link = (module: string, provider: string) => ({ module, provider, protocol: 'P', fieldName: null })
    const exchange = [link('__entry__', 'main'), link('main', 'llm'), link('main', '__response__')]
    const { nodes, edges } = layoutGraph(modules, exchange, 'LR')
    expect(nodes.map(({ id }) => id)).have.members(['__entry__', 'main', 'llm'])
    const edge = edges.find(({ key }) => key === edgeKey('main', 'llm'))
    const [main, llm] = ['main', 'llm'].map((id) => nodes.find((node) => node.id === id))
    if (!edge || !main || !llm) throw new Error('It is not drawn.')
    expect([pointAt(edge, 0), pointAt(edge, 1)]).deep.equal([
      { x: main.x + main.width / 2, y: main.y },
      { x: llm.x - llm.width / 2, y: llm.y },
    ])
  })

  it('keeps the modules that another uses in the order of the wiring', () => {
    const steps = ['research', 'outline', 'draft', 'facts', 'tone', 'polish']
    const modules = ['main', ...steps, 'last'].map((id) => ({ id, module: id, source: 'library', provides: null }))
    const link = (module: string, provider: string) => ({ module, provider, protocol: 'P', fieldName: null })
    const used = [link('__entry__', 'main'), ...steps.map((step) => link('main', step))]
    for (const exchange of [used, [...used, ...steps.map((step) => link(step, 'last')), link('main', 'last')]]) {
      for (const [direction, axis] of [
        ['LR', 'y'],
        ['TB', 'x'],
      ] as const) {
        const { nodes, edges } = layoutGraph(modules, exchange, direction)
        const placeOf = (id: string) => nodes.find((node) => node.id === id)?.[axis] ?? 0
        expect(
          [...steps].sort((one, other) => placeOf(one) - placeOf(other)),
          direction,
        ).deep.equal(steps)
        for (const { to, points } of edges) expect(points.at(-1)?.[axis], to).equal(placeOf(to))
      }
    }
  })

  it('makes the cards of a column equally wide, and leads no edge over a card', () => {
    const steps = ['a', 'longer', 'the_longest_of_all', 'b', 'c']
    const modules = ['main', ...steps, 'last'].map((id) => ({ id, module: id, source: 'library', provides: null }))
    const link = (module: string, provider: string) => ({ module, provider, protocol: 'P', fieldName: null })
    const exchange = [...steps.flatMap((step) => [link('main', step), link(step, 'last')]), link('main', 'last')]
    for (const direction of ['LR', 'TB'] as const) {
      const { nodes, edges } = layoutGraph(modules, exchange, direction)
      const widths = steps.map((step) => nodes.find(({ id }) => id === step)?.width)
      expect(new Set(widths).size, direction).equal(direction === 'LR' ? 1 : 2)
      for (const { from, to, points } of edges) {
        const others = nodes.filter(({ id }) => id !== from && id !== to)
        const crossed = others.filter(({ x, y, width, height }) =>
          points.some((point) => Math.abs(point.x - x) < width / 2 && Math.abs(point.y - y) < height / 2),
        )
        expect(crossed, `${from} ${to}`).deep.equal([])
      }
    }
  })
})

describe('stackGraph', () => {
  const modulesOf = (...ids: string[]) => ids.map((id) => ({ id, module: id, source: 'library', provides: null }))
  const link = (module: string, provider: string) => ({ module, provider, protocol: 'P', fieldName: null })

  it('puts each module below all that use it, and further to the right', () => {
    const steps = ['one', 'two']
    const exchange = [
      link('__entry__', 'main'),
      ...steps.flatMap((step) => [link('main', step), link(step, 'last')]),
      link('main', 'last'),
    ]
    const { nodes, width } = stackGraph(modulesOf('last', 'main', ...steps), exchange)
    expect(nodes.map(({ id }) => id)).deep.equal(['__entry__', 'main', 'one', 'two', 'last'])
    const lefts = nodes.map((node) => node.x - node.width / 2)
    expect(lefts.map((left) => left - (lefts[0] ?? 0))).deep.equal([0, 26, 52, 52, 78])
    for (const [index, node] of nodes.slice(1).entries()) {
      const before = nodes[index]
      expect(node.y - node.height / 2).greaterThan((before?.y ?? 0) + (before?.height ?? 0) / 2)
    }
    expect(width).lessThan(400)
  })

  it('keeps the modules of an agent that was called together, within a frame', () => {
    const exchange = [
      link('__entry__', 'main'),
      ...['llm', 'team'].map((id) => link('main', id)),
      ...['a', 'b'].flatMap((agent) => [link('team', `${agent}/main`), link(`${agent}/main`, `${agent}/llm`)]),
    ]
    const { nodes, groups } = stackGraph(
      modulesOf('llm', 'team', 'main', 'a/llm', 'b/main', 'a/main', 'b/llm'),
      exchange,
    )
    for (const { agent, y, height } of groups) {
      const within = nodes.filter((node) => Math.abs(node.y - y) < height / 2)
      expect(within.map(({ id }) => id)).deep.equal([`${agent}/main`, `${agent}/llm`])
    }
    expect(groups).lengthOf(2)
  })

  it('places modules that use each other', () => {
    const { nodes, edges } = stackGraph(modulesOf('a', 'b'), [link('a', 'b'), link('b', 'a')])
    expect(nodes.map(({ id }) => id)).have.members(['a', 'b'])
    expect(edges).lengthOf(2)
  })
})
