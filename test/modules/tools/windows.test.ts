import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'

const PROBE = fileURLToPath(new URL('../../support/windows-child.ts', import.meta.url))

describe('children on Windows', () => {
  it('start through the shell if they are scripts, like npx, and stop with their process tree', async function () {
    if (process.platform === 'win32') this.skip()
    const { stdout } = await execa('node', ['--import=tsx', PROBE], { timeout: 15_000 })
    const [started, ...ended] = stdout.split('\n')
    expect(started).to.equal('cmd.exe /d /s /c "npx ^"-y^" ^"some-server^""')
    // Once by us, and once more for what it may have left behind.
    expect(new Set(ended)).to.deep.equal(new Set(['taskkill /pid PID /t /f']))
  })
})
