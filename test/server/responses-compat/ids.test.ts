import { expect } from 'chai'
import fc from 'fast-check'
import { RunIds } from '../../../src/durable/runs/run-ids.ts'
import {
  findItem,
  inputItemId,
  MAX_INPUT_ITEMS,
  outputItemId,
} from '../../../src/server/adapters/responses-compat/ids.ts'

const KINDS = [
  'message',
  'function_call',
  'custom_tool_call',
  'mcp_call',
  'reasoning',
  'image_generation_call',
  'compaction',
] as const

describe('ids of items', () => {
  it('contain their response and position', () => {
    const id = new RunIds('resp_').next()
    const index = fc.integer({ min: 0, max: MAX_INPUT_ITEMS - 1 })
    fc.assert(
      fc.property(index, fc.integer({ min: 0, max: 40_000 }), (input, output) => {
        expect(findItem(inputItemId(id, input))).to.deep.equal({ responseId: id, list: 'input', index: input })
        for (const kind of KINDS) {
          const place = { responseId: id, list: 'output', index: output }
          expect(findItem(outputItemId(kind, id, output))).to.deep.equal(place)
        }
      }),
    )
    expect(findItem('msg_1')).to.equal(undefined)
    expect(findItem(id.replace('resp', 'msg'))).to.equal(undefined)
  })
})
