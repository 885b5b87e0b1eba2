import { expect } from 'chai'
import { type Call, CallTree } from '../../../src/trace/calls/call-tree.ts'
import { toMermaid } from '../../../src/trace/calls/mermaid.ts'
import { viewStep } from '../../../src/trace/calls/view-step.ts'
import { layoutSequence, type SequenceRow } from '../../../ui/src/run/sequence-layout.ts'
import { findDecisive } from '../../../ui/src/run/trace-rows.ts'
import { findPlumbing } from '../../../ui/src/traces/plumbing.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { eventOf } from '../../support/events.ts'

type Step = readonly [
  kind: 'call' | 'result' | 'exception',
  id: string,
  module: string,
  caller?: string,
  parent?: string,
]

/** Ids are letters; `[call, id, module, caller, parent]`. A millisecond passes between two steps. */
function treeOf(steps: readonly Step[]): CallTree {
  const tree = new CallTree()
  steps.forEach(([event_type, call_id, module_id, caller_id = 'agent:a', parent_call_id = null], index) => {
    tree.add(
      viewStep(
        eventOf({ event_type, call_id, module_id, caller_id, parent_call_id, method_name: 'act', time: index / 1000 }),
      ),
    )
  })
  return tree
}

const PARALLEL: readonly Step[] = [
  ['call', 'a', 'main'],
  ['call', 'b', 'tool', 'main', 'a'],
  ['call', 'c', 'tool', 'main', 'a'],
  ['result', 'b', 'tool', 'main', 'a'],
  ['exception', 'c', 'tool', 'main', 'a'],
]

describe('CallTree', () => {
  it('ends where a call is below itself, as files may say', () => {
    const tree = new CallTree()
    for (const [call_id, parent] of Object.entries({ self: 'self', one: 'two', two: 'one', leaf: 'two' })) {
      const facts = { event_type: 'call', call_id, parent_run_id: 'r', parent_run_call_id: parent } as const
      tree.add(viewStep(eventOf(facts)))
    }
    expect(tree.roots.map(({ id }) => id)).to.deep.equal(['self', 'one'])
    expect(tree.calls.map(({ id, depth }) => [id, depth])).to.deep.equal([
      ['self', 0],
      ['one', 0],
      ['two', 1],
      ['leaf', 2],
    ])
  })

  it('nests calls below their callers, with their outcome', () => {
    const tree = treeOf(PARALLEL)
    const describeCall = ({ id, depth, status, children, index, endIndex }: Call) => [
      id,
      depth,
      status,
      index,
      endIndex,
      children.length,
    ]
    expect(tree.calls.map(describeCall)).deep.equal([
      ['a', 0, 'running', 0, undefined, 2],
      ['b', 1, 'done', 1, 3, 0],
      ['c', 1, 'failed', 2, 4, 0],
    ])
    expect(tree.participants).deep.equal(['agent:a', 'main', 'tool'])
    expect(Math.round(tree.get('c')?.durationMs ?? 0)).equal(2)
  })

  it('nests the run of an agent below the call that began it, also where that is read later', () => {
    const begin = {
      event_type: 'call',
      call_id: 'a',
      module_id: 'main',
      caller_id: 'agent:desk',
      agent_id: 'desk',
    } as const
    const tool = { ...begin, call_id: 'b', module_id: 'team', caller_id: 'main', parent_call_id: 'a' } as const
    const called = { ...begin, call_id: 'c', agent_id: 'billing', caller_id: 'agent:billing', parent_run_call_id: 'b' }
    const within = {
      ...called,
      call_id: 'd',
      module_id: 'llm',
      caller_id: 'main',
      parent_call_id: 'c',
      parent_run_call_id: null,
    }
    for (const order of [
      [begin, tool, called, within],
      [begin, called, within, tool],
    ]) {
      const tree = new CallTree()
      for (const event of order) tree.add(viewStep(eventOf(event)))
      expect(tree.roots.map(({ id }) => id)).deep.equal(['a'])
      expect(
        ['b', 'c', 'd'].map((id) => tree.get(id)).map((call) => [call?.from, call?.to, call?.depth, call?.parent?.id]),
      ).deep.equal([
        ['main', 'team', 1, 'a'],
        ['team', 'billing/main', 2, 'b'],
        ['billing/main', 'billing/llm', 3, 'c'],
      ])
    }
  })

  it('ignores the end of a call whose start was lost', () => {
    const tree = treeOf([
      ['result', 'x', 'main'],
      ['call', 'a', 'main', 'agent:a', 'gone'],
    ])
    expect(tree.calls.map(({ id }) => id)).deep.equal(['a'])
    expect(tree.roots.map(({ id }) => id)).deep.equal(['a'])
  })
})

describe('toMermaid', () => {
  it('writes calls and their ends in order', () => {
    expect(toMermaid(treeOf(PARALLEL))).equal(`sequenceDiagram
  participant p0 as agent a
  participant p1 as main
  participant p2 as tool
  p0->>+p1: act
  p1->>+p2: act
  p1->>+p2: act
  p2-->>-p1: done
  p2--x-p1: failed
`)
  })
})

describe('the calls that a page shows of a run', () => {
  const treeWith = (steps: readonly Parameters<typeof eventOf>[0][]) => {
    const tree = new CallTree()
    for (const step of steps) tree.add(viewStep(eventOf(step)))
    return tree
  }
  const root = { call_id: 'a', module_id: 'main', caller_id: 'agent:a', parent_call_id: null }
  const inner = (call_id: string, more: Omit<Parameters<typeof eventOf>[0], 'call_id'>) => ({
    call_id,
    module_id: 'm',
    caller_id: 'main',
    parent_call_id: 'a',
    ...more,
  })

  it('leave out what only carries things about, unless it failed or has work within it', () => {
    const tree = treeWith([
      { ...root, event_type: 'call' },
      inner('list', { event_type: 'call', method_name: 'listTools' }),
      inner('text', {
        event_type: 'call',
        method_name: 'respondText',
        protocol: 'Response',
        module_id: '__response__',
      }),
      inner('lost', { event_type: 'call', method_name: 'listTools' }),
      inner('lost', { event_type: 'exception', method_name: 'listTools', exception: 'Error: no' }),
      inner('history', { event_type: 'call', method_name: 'getHistory' }),
      inner('summary', { event_type: 'call', method_name: 'generate', protocol: 'LLM', parent_call_id: 'history' }),
    ])
    expect([...findPlumbing(tree)].map(({ id }) => id).sort()).deep.equal(['list', 'text'])
  })

  it('decide for a failed run with its reason, not with a failure that was caught', () => {
    const tree = treeWith([
      { ...root, event_type: 'call' },
      inner('model', { event_type: 'call', protocol: 'LLM' }),
      inner('model', { event_type: 'exception', protocol: 'LLM', exception: 'Error: away' }),
      inner('tool', { event_type: 'call' }),
      inner('tool', { event_type: 'exception', exception: 'Error: closed' }),
      { ...root, event_type: 'exception', exception: 'HostError: it failed\nCaused by: Error: away\n    at b' },
    ])
    expect(findDecisive('failed', tree)?.id).equal('model')
    expect(findDecisive('completed', tree)?.id).equal('model')
  })

  it('decide for a waiting run with the call that waits', () => {
    const result = { waits_for: [{ kind: 'approval', name: 'pay', call_id: 'c' }] }
    const tree = treeWith([
      { ...root, event_type: 'call' },
      inner('tool', { event_type: 'call' }),
      inner('tool', { event_type: 'result', result }),
      { ...root, event_type: 'result', result },
    ])
    expect(findDecisive('waiting', tree)?.id).equal('tool')
  })
})

describe('layoutSequence', () => {
  const NONE: ReadonlySet<string> = new Set()
  const ALL = { plumbing: new Set<Call>(), unfolded: NONE, selected: '' }
  const nameRow = (row: SequenceRow) => (row.kind === 'fold' ? `${row.fold.count} more` : `${row.kind} ${row.call.id}`)
  const rowsOf = (tree: CallTree, unfolded = NONE, selected = '') =>
    layoutSequence(tree, { ...ALL, unfolded, selected }).rows.map(nameRow)
  /** `count` calls of a module one after the other, the given one failing. */
  const repeated = (count: number, failing = -1): Step[] => [
    ['call', 'a', 'main'],
    ...Array.from({ length: count }, (_, index): Step[] => [
      ['call', `c${index}`, 'tool', 'main', 'a'],
      [index === failing ? 'exception' : 'result', `c${index}`, 'tool', 'main', 'a'],
    ]).flat(),
  ]

  it('draws overlapping calls of a module side by side', () => {
    const { rows, bars, columns } = layoutSequence(treeOf(PARALLEL), ALL)
    expect(rows.map(nameRow)).deep.equal(['call a', 'call b', 'call c', 'return b', 'return c'])
    expect(bars.map(({ call, column, lane }) => [call.id, column, lane])).deep.equal([
      ['a', 1, 0],
      ['b', 2, 0],
      ['c', 2, 1],
    ])
    expect(columns.map(({ id }) => id)).deep.equal(['agent:a', 'main', 'tool'])
    const ys = rows.map(({ y }) => y)
    expect(ys).deep.equal([...ys].sort((a, b) => a - b))
  })

  it('is as narrow as its labels allow, with room for the row of a fold', () => {
    const { columns, rows, width } = layoutSequence(treeOf(repeated(10)), ALL)
    const fold = rows.find((row) => row.kind === 'fold')
    expect(fold?.label).match(/^↻ 9 more × tool\.act · /)
    expect(width).greaterThan((columns[1]?.x ?? 0) + (fold?.label.length ?? 0) * 6)
    expect(width).lessThan(400)
  })

  it('folds repetitions after the first one', () => {
    expect(rowsOf(treeOf(repeated(10)))).deep.equal(['call a', 'call c0', 'return c0', '9 more'])
    expect(rowsOf(treeOf(repeated(3)))).lengthOf(7)
  })

  it('folds a pattern of several calls as a whole', () => {
    const steps: Step[] = [['call', 'a', 'main']]
    for (let round = 0; round < 6; round++) {
      for (const module of ['llm', 'tool']) {
        steps.push(
          ['call', `${module}${round}`, module, 'main', 'a'],
          ['result', `${module}${round}`, module, 'main', 'a'],
        )
      }
    }
    expect(rowsOf(treeOf(steps))).deep.equal([
      'call a',
      'call llm0',
      'return llm0',
      'call tool0',
      'return tool0',
      '5 more',
    ])
  })

  it('never hides a failed, running or selected call', () => {
    expect(rowsOf(treeOf(repeated(10, 5))))
      .include('call c5')
      .include('return c5')
    const running: Step[] = [...repeated(10), ['call', 'last', 'tool', 'main', 'a']]
    expect(rowsOf(treeOf(running))).include('call last')
    expect(rowsOf(treeOf(repeated(10)), NONE, 'c7')).include('call c7')
  })

  it('shows folded calls on request', () => {
    expect(rowsOf(treeOf(repeated(10)), new Set(['c1']))).lengthOf(21)
  })

  it('lays out 5,000 different calls quickly', () => {
    const steps: Step[] = [['call', 'a', 'main']]
    for (let index = 0; index < 5000; index++) {
      const module = `tool${(index * index + (index >> 3)) % 7}`
      steps.push(['call', `c${index}`, module, 'main', 'a'], ['result', `c${index}`, module, 'main', 'a'])
    }
    const tree = treeOf(steps)
    const spentMs = measureCpuTime()
    layoutSequence(tree, ALL)
    expect(spentMs()).lessThan(1000)
  })
})
