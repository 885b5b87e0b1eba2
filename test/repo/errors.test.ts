import { readFileSync } from 'node:fs'
import { ERROR_CODES } from 'agent-host'
import { expect } from 'chai'

describe('docs/errors.md', () => {
  it('lists every code with its status', () => {
    const text = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    const rows = [...text.matchAll(/^\| `(\w+)`\s*\| (\d+)\s*\|/gm)].map(([, code, status]) => [code, Number(status)])
    expect(Object.fromEntries(rows)).to.deep.equal(ERROR_CODES)
  })
})
