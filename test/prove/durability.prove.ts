// Ten times `kill -9` under load: every acknowledged response is there, whole, and none is left in progress.
import { proveKills } from '../support/kill-under-load.ts'
import { killRunning } from '../support/run-cli.ts'

describe('durability', () => {
  afterEach(killRunning)

  it('keeps all that was acknowledged through 10 kills', () => proveKills(10)).timeout(600_000)
})
