import { expect } from 'chai'
import { deferred } from '../../../src/async.ts'
import { JoinedReads } from '../../../src/durable/runs/joined-reads.ts'
import { LargeRuns } from '../../../src/durable/runs/large-runs.ts'
import type { StoredRun } from '../../../src/durable/runs/run-store.ts'
import { makeFacts } from '../../support/run-facts.ts'

const run = (text: string): StoredRun => ({
  id: 'resp_1',
  facts: makeFacts({ adapter: 'responses', agent: 'talk', data: {} }),
  steps: [text],
  inputs: 0,
  items: undefined,
  batches: 0,
  isQueued: false,
})

describe('large runs', () => {
  it('are parsed once while their steps are in use, and again when the row has changed', () => {
    const runs = new LargeRuns<StoredRun>()
    const text = 'x'.repeat(300_000)
    expect(runs.find('resp_1', text)).to.equal(undefined)
    const added = runs.add(run(text), text)
    expect(added.largeLength).to.equal(300_000)
    const found = runs.find('resp_1', text)
    expect(found).to.deep.equal(added)
    expect(found?.steps).to.equal(added.steps)
    expect(runs.find('resp_1', `${text}x`)).to.equal(undefined)
    expect(runs.find('resp_1', `${text.slice(1)}y`)).to.equal(undefined)
    expect(runs.find('resp_2', text)).to.equal(undefined)
    const small = runs.add(run('x'), 'x')
    expect([small.largeLength, runs.find('resp_1', 'x')]).to.deep.equal([undefined, undefined])
  })
})

describe('joined reads', () => {
  it('read once for all that come during a read, and see what was written before they came', async () => {
    let written = 0
    const open: (() => void)[] = []
    const reads = new JoinedReads(async (id) => {
      const seen = `${id} ${written}`
      const { promise, resolve } = deferred<void>()
      open.push(resolve)
      await promise
      return seen
    })
    const first = reads.get('a')
    written = 1
    const later = [reads.get('a'), reads.get('a')]
    const other = reads.get('b')
    expect(open.length).to.equal(2)
    for (const go of open) go()
    expect([await first, await other]).to.deep.equal(['a 0', 'b 1'])
    while (open.length < 3) await Promise.resolve()
    open[2]?.()
    expect(await Promise.all(later)).to.deep.equal(['a 1', 'a 1'])
    expect(open.length).to.equal(3)
  })

  it('read again after one that failed', async () => {
    let count = 0
    const reads = new JoinedReads(async () => {
      if (++count === 1) throw new Error('down')
      return count
    })
    const [first, second] = [reads.get('a'), reads.get('a')]
    expect(await first.catch(({ message }: Error) => message)).to.equal('down')
    expect(await second).to.equal(2)
  })
})
