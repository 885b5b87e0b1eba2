// Ten times `kill -9` under load: every acknowledged response is there, whole, and none is left in progress.
import { expect } from 'chai'
import { proveKills } from '../support/kill-under-load.ts'
import { killRunning } from '../support/run-cli.ts'

describe('durability', () => {
  afterEach(killRunning)

  it('keeps all that was acknowledged through 10 kills', async () => {
    expect(await proveKills(10)).to.have.members(['completed', 'failed'])
  }).timeout(600_000)
})
