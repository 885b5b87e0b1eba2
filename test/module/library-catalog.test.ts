import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { collectLibraryCatalog } from '../../src/module/library-catalog.ts'
import { listLibrary } from '../../src/module/load-module.ts'

describe('library catalog', () => {
  it('is written by the build as the modules of the library are', async () => {
    const catalog = await collectLibraryCatalog()
    const written = await readFile(new URL('../../dist/library-catalog.json', import.meta.url), 'utf8')
    expect(JSON.parse(written)).deep.equal(catalog)
    expect(catalog.map(({ reference }) => reference)).deep.equal(listLibrary())
  })

  it('has no timeout that is longer than a timer of Node can wait, which would end at once', async () => {
    const longest: unknown[] = []
    const look = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [name, inner] of Object.entries(value)) {
        if (/timeout$/.test(name) && inner?.type === 'number') longest.push(inner.maximum)
        look(inner)
      }
    }
    look(await collectLibraryCatalog())
    expect(longest).to.have.length.above(10)
    for (const seconds of longest) expect(seconds).to.be.within(1, 2_147_483)
  })
})
