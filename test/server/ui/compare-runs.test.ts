import { expect } from 'chai'
import { CallTree } from '../../../src/trace/calls/call-tree.ts'
import { compareCalls, isDifferent } from '../../../ui/src/compare/compare-runs.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'

interface Said {
  readonly tool: string
  readonly asks?: string
  readonly gives?: string
  readonly fails?: boolean
}

/** Calls of tools, one after the other: `find`, or `find=x` for one with other arguments, `find>y` with another result. */
function callsOf(...said: readonly (string | Said)[]) {
  const tree = new CallTree()
  for (const [index, each] of said.entries()) {
    const [, tool = '', asks, gives] =
      typeof each === 'string'
        ? (/^(\w+)(?:=(\w+))?(?:>(\w+))?$/.exec(each) ?? [])
        : ['', each.tool, each.asks, each.gives]
    const step = {
      agent_id: 'a',
      run_id: 'run',
      module_id: 'tools',
      module_class: 'Tools',
      method_name: 'executeTool',
      time: index,
      call_id: String(index),
      caller_id: 'main',
      parent_call_id: null,
      kind: 'tool' as const,
    }
    tree.add({ ...step, event_type: 'call', duration_ms: null, label: `${tool}(${asks ?? ''})`, digest: asks ?? '-' })
    const end = typeof each !== 'string' && each.fails ? 'exception' : 'result'
    tree.add({ ...step, event_type: end, duration_ms: 1, digest: gives ?? '-' })
  }
  return tree.calls
}

/** `find|find`, `-|refund`, `find|find asked given`. */
const shown = (...[left, right]: Parameters<typeof compareCalls>) =>
  compareCalls(left, right).map((pair) => {
    const nameOf = (call: typeof pair.left) => call?.label?.replace('()', '') ?? '-'
    return [`${nameOf(pair.left)}|${nameOf(pair.right)}`, ...pair.differs].join(' ')
  })

describe('compareCalls', () => {
  it('puts the calls of two runs side by side, and names what differs', () => {
    const left = callsOf('list', 'find=A1', 'find=B2>lost', 'sum')
    const right = callsOf('list', 'find=A1', 'refund=A1', 'find=B2>sent', { tool: 'sum', fails: true })
    expect(shown(left, right)).deep.equal([
      'list|list',
      'find(A1)|find(A1)',
      '-|refund(A1)',
      'find(B2)|find(B2) given',
      'sum|sum state',
    ])
    expect(shown(right, left)[2]).equal('refund(A1)|-')
    expect(compareCalls(left, right).map(isDifferent)).deep.equal([false, false, true, true, true])
  })

  it('brings calls together that ask the same, before others of their method', () => {
    expect(shown(callsOf('find=A', 'find=B'), callsOf('find=B'))).deep.equal(['find(A)|-', 'find(B)|find(B)'])
    expect(shown(callsOf('find=A'), callsOf('find=B'))).deep.equal(['find(A)|find(B) asked'])
    expect(shown(callsOf('find'), callsOf('sum'))).have.members(['find|-', '-|sum'])
  })

  it('takes runs without calls', () => {
    expect(shown([], [])).deep.equal([])
    expect(shown(callsOf('find'), [])).deep.equal(['find|-'])
    expect(shown([], callsOf('find', 'sum'))).deep.equal(['-|find', '-|sum'])
  })

  it('keeps every call of both runs, once and in order, whatever they are', () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    for (let round = 0; round < 60; round++) {
      const make = () => callsOf(...Array.from({ length: random(40) }, () => `t${random(4)}=a${random(3)}`))
      const [left, right] = [make(), make()]
      const pairs = compareCalls(left, right)
      expect(pairs.flatMap((pair) => pair.left ?? [])).deep.equal(left)
      expect(pairs.flatMap((pair) => pair.right ?? [])).deep.equal(right)
    }
  })

  it('compares two runs of 5,000 calls within 300 ms', () => {
    const make = (shift: number) =>
      callsOf(...Array.from({ length: 5000 }, (_, n) => `t${((n + shift) * 7919) % 13}=a${((n + shift) * 31) % 101}`))
    // All is shifted, and every tenth call is another one.
    const [left, right] = [make(0), make(40).map((call, n) => (n % 10 === 0 ? { ...call, asks: `x${n}` } : call))]
    compareCalls(left.slice(0, 500), right.slice(0, 500))
    // Of this process alone: other tests may run beside it.
    const spentMs = measureCpuTime()
    const pairs = compareCalls(left, right)
    const tookMs = spentMs()
    expect(pairs.filter(({ left, right }) => left && right).length).greaterThan(4900)
    expect(tookMs).below(300)
  })
})
