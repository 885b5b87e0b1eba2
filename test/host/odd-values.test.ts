import { expect } from 'chai'
import { FUNCTIONS } from '../support/fuzz/plain-functions.ts'
import { findSurfaceFaults, ODD_VALUES, UNREADABLE } from '../support/fuzz/public-surface.ts'

describe('what programs and adapters hand over', () => {
  it('is refused by its name where it is odd, at every method: nothing is paid, and what waits goes on waiting', async () => {
    expect(await findSurfaceFaults(ODD_VALUES)).to.deep.equal({})
  }).timeout(60_000)

  it('is refused by its name at every function and class', async () => {
    const values = ODD_VALUES.filter((value) => value !== UNREADABLE)
    expect(await findSurfaceFaults(values, FUNCTIONS)).to.deep.equal({})
  }).timeout(60_000)
})
