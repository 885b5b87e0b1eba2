import { expect } from 'chai'
import type { Call } from '../../../src/trace/calls/call-tree.ts'
import { timeBars } from '../../../ui/src/graph/time-bars.ts'

describe('timeBars', () => {
  const callAt = (id: string, startMs: number, durationMs: number, more: Partial<Call> = {}) =>
    ({ id, kind: 'tool', status: 'completed', depth: 1, startedAt: 100 + startMs / 1000, durationMs, ...more }) as Call

  it('has a bar for each call that can be told apart', () => {
    const calls = [
      callAt('main', 0, 1000, { kind: 'agent', depth: 0 }),
      callAt('a', 0, 100),
      callAt('b', 500, 250, { status: 'failed' }),
      callAt('deep', 500, 250, { depth: 9 }),
    ]
    expect(timeBars(calls, 100, 1000).map(({ id, row, look }) => [id, row, look])).deep.equal([
      ['main', 0, 'kind-agent completed'],
      ['a', 1, 'kind-tool completed'],
      ['b', 1, 'kind-tool failed'],
      ['deep', 4, 'kind-tool completed'],
    ])
  })

  it('reaches the end of a run of thousands of calls, with no more bars than can be seen', () => {
    const calls = Array.from({ length: 5000 }, (_, n) => callAt(String(n), n * 10, 9))
    const bars = timeBars(calls, 100, 50_000)
    expect(bars.length).lessThan(500)
    expect(bars.at(-1)?.right).closeTo(1, 0.001)
    const apart = Array.from({ length: 5000 }, (_, n) => callAt(String(n), n * 10, 1, { depth: n % 2 }))
    expect(timeBars(apart, 100, 50_000).length).lessThan(1000)
  })
})
