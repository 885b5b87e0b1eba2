import { expect } from 'chai'
import { RunIds, uuidOf } from '../../../src/durable/runs/run-ids.ts'

describe('ids of runs', () => {
  it('are a prefix and a UUID of version 7, which starts with the time', () => {
    const ids = new RunIds('resp_')
    const id = ids.next(0x0190_a0b0_c0d0)
    expect(id).to.match(/^resp_0190a0b0-c0d0-7000-[89ab][0-9a-f]{3}-[0-9a-f]{7}00000$/)
    expect(ids.isId(id)).to.equal(true)
    const others = ['resp_', 'resp_none', id.slice(5), `${id}0`, id.toUpperCase(), `run_${id.slice(5)}`]
    expect(others.some((other) => ids.isId(other))).to.equal(false)
    expect(uuidOf(id)).to.equal(id.slice(5))
  })

  it('increase, even within one millisecond and when the clock goes back', () => {
    const ids = new RunIds('resp_')
    const now = Date.now()
    const created = Array.from({ length: 10_000 }, (_, n) => ids.next(n < 5000 ? now : now - 1000))
    expect([...created].sort()).to.deep.equal(created)
    expect(new Set(created).size).to.equal(10_000)
    expect(created.every((id) => ids.isId(id))).to.equal(true)
  })

  it('sort after the first id of their time, and before the first of a later one', () => {
    const ids = new RunIds('resp_')
    const id = ids.next(1_800_000_000_000)
    expect(id > ids.firstAt(1_800_000_000_000)).to.equal(true)
    expect(id < ids.firstAt(1_800_000_000_001)).to.equal(true)
  })
})
