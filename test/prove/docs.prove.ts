// The documentation site builds, without a dead link.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url))

describe('docs', () => {
  it('builds the site', async () => {
    await execa('npm', ['ci', '--no-fund', '--no-audit'], { cwd: DOCS })
    await execa('npm', ['run', 'build'], { cwd: DOCS })
    expect(existsSync(`${DOCS}.vitepress/dist/index.html`)).to.equal(true)
  }).timeout(300_000)
})
