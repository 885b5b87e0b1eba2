import { expect } from 'chai'
import { PlayOrder } from '../../../src/tape/replaying/play-order.ts'

describe('the order of what a replay gives out', () => {
  it('is that of the lines; of calls without an end the one that begins first comes first', async () => {
    const order = new PlayOrder(() => undefined)
    order.open = 4
    const given: string[] = []
    const wait = (name: string, at: number) => order.turnOf(at)?.then(() => given.push(name))
    await Promise.all([
      wait('one endless', Number.MAX_SAFE_INTEGER),
      wait('another endless', Number.MAX_SAFE_INTEGER),
      wait('second', 5),
      wait('first', 3),
    ])
    expect(given).to.deep.equal(['first', 'second', 'one endless', 'another endless'])
  })
})
