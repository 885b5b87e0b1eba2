import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { PlayOrder } from '../../../src/tape/replaying/play-order.ts'
import { eventually } from '../../support/eventually.ts'

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

  it('is no longer looked after once the run is over', async () => {
    const looks: number[] = []
    const order = new PlayOrder(() => {
      looks.push(performance.now())
      return { at: 1, ms: 60_000 }
    })
    order.open = 2
    void order.turnOf(2)
    // Behind the turns that it gets without a delay.
    await eventually(() => expect(looks.length).above(100))
    order.isOver = true
    const before = looks.length
    void order.turnOf(3)
    await setTimeout(20)
    expect(looks.length).equal(before)
  })
})
