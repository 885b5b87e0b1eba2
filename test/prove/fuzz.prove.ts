// A server answers 20,000 requests of any shape, 2,000 broken connections, 4,000 messages over WebSockets, and agents with hostile models and MCP servers, without a fault of its own; every function and method for programs and adapters takes any value; no command hangs or crashes on a file of an odd kind in any folder of a project; a damaged row of its store hurts itself alone.
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { anything, sample } from 'fast-check'
import { findDamageFaults } from '../support/fuzz/damaged-rows.ts'
import { fuzz, KEPT_SEEDS } from '../support/fuzz/fuzz.ts'
import { findOddFileFaults } from '../support/fuzz/odd-files.ts'
import { FUNCTIONS } from '../support/fuzz/plain-functions.ts'
import { findSurfaceFaults } from '../support/fuzz/public-surface.ts'
import { closeServers } from '../support/server.ts'

/** Part of it, for a quick look: FUZZ_SIZE=0.1. */
const SIZE = Number(process.env.FUZZ_SIZE ?? 1)
const NEW_SEED = Date.now() % 1_000_000_000

describe('fuzz', () => {
  afterEach(closeServers)

  for (const seed of [...KEPT_SEEDS, NEW_SEED]) {
    // If a new seed finds a bug, add it to test/support/fuzz/seeds.json.
    it(`has no fault of its own (seed ${seed})`, async () => {
      const share = KEPT_SEEDS.length + 1
      const counts = {
        requests: (20_000 * SIZE) / share,
        sockets: (2000 * SIZE) / share,
        messages: (4000 * SIZE) / share,
        turns: (1200 * SIZE) / share,
      }
      expect(await fuzz(seed, counts)).to.deep.equal([])
    }).timeout(300_000)
  }

  for (const seed of [...KEPT_SEEDS, NEW_SEED]) {
    it(`refuses odd values of programs and adapters by their names (seed ${seed})`, async () => {
      const values = sample(anything({ withBigInt: true, withMap: true, withSet: true, withNullPrototype: true }), {
        seed,
        numRuns: 60 * SIZE,
      })
      expect(await findSurfaceFaults(values)).to.deep.equal({})
      expect(await findSurfaceFaults(values, FUNCTIONS)).to.deep.equal({})
    }).timeout(300_000)
  }

  it('ends every command, whatever kind of file stands in a folder of the project', async () => {
    const isChosen = (kind: string, place: string) => SIZE === 1 || isSampled(`${kind} ${place}`)
    expect(await findOddFileFaults(isChosen)).to.deep.equal([])
  }).timeout(3_600_000)

  it('serves everything else while one row of the store is damaged, each row in turn', async () => {
    expect(await findDamageFaults()).to.deep.equal([])
  }).timeout(900_000)
})

/** Takes the share of the cases that the size says, other ones each time. */
function isSampled(name: string): boolean {
  const hash = createHash('sha256').update(`${NEW_SEED} ${name}`).digest().readUInt32BE()
  return hash < SIZE * 2 ** 32
}
