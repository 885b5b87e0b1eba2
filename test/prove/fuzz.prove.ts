// A server answers 20,000 requests of any shape without a fault of its own.
import { expect } from 'chai'
import { sendFuzzed } from '../support/fuzz.ts'
import { closeServers } from '../support/server.ts'

describe('fuzz', () => {
  afterEach(closeServers)

  it('answers 20,000 requests of any shape without a fault of its own', async () => {
    expect(await sendFuzzed(20_000)).to.deep.equal([])
  }).timeout(300_000)
})
