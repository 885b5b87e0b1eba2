import { expect } from 'chai'
import { findSurfaceFaults, ODD_VALUES } from '../support/fuzz/public-surface.ts'

describe('what programs and adapters hand over', () => {
  it('is refused by its name where it is odd, at every method: nothing is paid, and what waits goes on waiting', async () => {
    expect(await findSurfaceFaults(ODD_VALUES)).to.deep.equal({})
  }).timeout(60_000)
})
