import { expect } from 'chai'
import { deferred } from '../../src/async.ts'
import { GroupCommit, type PendingCommit } from '../../src/store/group-commit.ts'
import { eventually } from '../support/eventually.ts'

const KiB = 1024

describe('commits that come together', () => {
  it('are groups of a bounded size, in their order, whatever one alone has', async () => {
    const groups: string[][] = []
    const run = async (commits: readonly PendingCommit[]) => {
      groups.push(commits.map(({ changes: [change] }) => change?.[0] as string))
      return commits.map(() => true)
    }
    const group = new GroupCommit({ run })
    const add = (key: string, length: number) =>
      group.add({ changes: [[key, 'x'.repeat(length)]], guards: {}, notify: [] })
    const lengths = { a: 600 * KiB, b: 300 * KiB, c: 300 * KiB, d: 5000 * KiB, e: 1 }
    expect(await Promise.all(Object.entries(lengths).map(([key, length]) => add(key, length)))).to.not.include(false)
    expect(groups).to.deep.equal([['a', 'b'], ['c'], ['d'], ['e']])
    groups.length = 0
    await Promise.all(Array.from({ length: 300 }, (_, n) => add(`${n}`, 1)))
    expect(groups.map(({ length }) => length)).to.deep.equal([128, 128, 44])
  })

  it('are not made once their callers have given up, such as after a server that hung', async () => {
    const made: string[] = []
    let nowMs = 0
    const hang = deferred()
    const run = async (commits: readonly PendingCommit[]) => {
      for (const { changes } of commits) made.push(changes[0]?.[0] as string)
      await hang.promise
      return commits.map(() => true)
    }
    const group = new GroupCommit({ run, now: () => nowMs })
    const add = (key: string) => group.add({ changes: [[key, '1']], guards: {}, notify: [] })
    const first = add('first')
    await eventually(() => expect(made).to.deep.equal(['first']))
    const overdue = add('overdue').catch((error: Error) => error.message)
    nowMs = 5001
    const last = add('last')
    hang.resolve()
    expect(await Promise.all([first, overdue, last])).to.deep.equal([true, 'the commits before it took too long', true])
    expect(made).to.deep.equal(['first', 'last'])
  })
})
