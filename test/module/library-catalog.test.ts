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
})
