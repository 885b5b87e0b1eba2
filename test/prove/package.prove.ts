// Each module of the library, ejected alone from the installed package, type-checks and loads.
import { expect } from 'chai'
import { listLibrary } from '../../src/module/load-module.ts'
import { InstalledPackage } from '../support/installed-package.ts'

describe('package', () => {
  it('has with each module everything that it needs when it is ejected alone', async () => {
    await using installed = await InstalledPackage.create()
    expect(await installed.ejectEachAlone(listLibrary())).to.deep.equal([0, ''])
  }).timeout(600_000)
})
