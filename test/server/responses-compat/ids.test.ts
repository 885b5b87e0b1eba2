import { expect } from 'chai'
import fc from 'fast-check'
import {
  findItem,
  firstIdAt,
  inputItemId,
  isResponseId,
  MAX_INPUT_ITEMS,
  outputItemId,
  ResponseIds,
} from '../../../src/server/adapters/responses-compat/ids.ts'

describe('ids of responses', () => {
  it('are UUIDs of version 7, with the time in front', () => {
    const id = new ResponseIds().next(0x0190_a0b0_c0d0)
    expect(id).to.match(/^resp_0190a0b0-c0d0-7000-[89ab][0-9a-f]{3}-[0-9a-f]{7}00000$/)
    expect(isResponseId(id)).to.equal(true)
    expect(['resp_', 'resp_none', id.slice(5), `${id}0`, id.toUpperCase()].some(isResponseId)).to.equal(false)
  })

  it('grow, also when many are made in one millisecond, and when the clock goes back', () => {
    const ids = new ResponseIds()
    const now = Date.now()
    const made = Array.from({ length: 10_000 }, (_, n) => ids.next(n < 5000 ? now : now - 1000))
    expect([...made].sort()).to.deep.equal(made)
    expect(new Set(made).size).to.equal(10_000)
    expect(made.every(isResponseId)).to.equal(true)
  })

  it('come after the first one of their time, and before the first one of a later time', () => {
    const id = new ResponseIds().next(1_800_000_000_000)
    expect(id > firstIdAt(1_800_000_000_000)).to.equal(true)
    expect(id < firstIdAt(1_800_000_000_001)).to.equal(true)
  })

  it('are found by the id of an item, with its place', () => {
    const id = new ResponseIds().next()
    const index = fc.integer({ min: 0, max: MAX_INPUT_ITEMS - 1 })
    fc.assert(
      fc.property(index, fc.integer({ min: 0, max: 40_000 }), (input, output) => {
        expect(findItem(inputItemId(id, input))).to.deep.equal({ responseId: id, list: 'input', index: input })
        for (const kind of ['msg', 'fc'] as const) {
          const place = { responseId: id, list: 'output', index: output }
          expect(findItem(outputItemId(kind, id, output))).to.deep.equal(place)
        }
      }),
    )
    expect(findItem('msg_1')).to.equal(undefined)
    expect(findItem(id.replace('resp', 'msg'))).to.equal(undefined)
  })
})
