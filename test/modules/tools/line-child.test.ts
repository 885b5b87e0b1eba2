import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { LineChild } from '../../../modules/tools/lib/line-child.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'

const MIB = 1024 * 1024
const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe('LineChild', () => {
  it('reads a long line at the cost of short ones', async () => {
    await cpuMsOf(16, MIB)
    const [short, long] = [await cpuMsOf(16, MIB), await cpuMsOf(1, 16 * MIB)]
    expect(long).to.be.lessThan(4 * short + 50)
  })

  it('says once that it could not be started where no file can be opened', async () => {
    const line = new URL('../../../modules/tools/lib/line-child.ts', import.meta.url).href
    const code = `import { openSync } from 'node:fs'
      import { LineChild } from ${JSON.stringify(line)}
      process.on('uncaughtException', (error) => console.log('uncaught', error.message))
      console.log('begun')
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      try { for (;;) openSync('/dev/null') } catch {}
      const child = new LineChild({ command: 'cat', args: [], cwd: '.', env: {}, log, maxLineChars: 100, onExit: console.log, onLine() {} })
      child.write('hi')
      child.close().then(() => console.log('closed'))`
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      'ulimit -n 200; exec "$@"',
      'sh',
      ...[process.execPath, '--import=tsx', '--input-type=module', '-e', code],
    ])
    expect(stdout.split('\n')).to.deep.equal(['begun', 'could not be started: spawn cat EMFILE', 'closed', ''])
  })

  it('says once that it could not be started where Node throws that', async () => {
    const reasons: string[] = []
    const env = { LONG: 'x'.repeat(4 * MIB) }
    const rest = { args: [], cwd: '.', env, log: silent, maxLineChars: 100, onLine() {} }
    const child = new LineChild({ command: 'cat', ...rest, onExit: (reason) => reasons.push(reason) })
    expect(reasons).to.deep.equal([])
    await child.write('hi')
    await child.close()
    child.kill()
    expect(reasons).to.deep.equal(['could not be started: spawn E2BIG'])
  })
})

/** CPU time of this process while a child prints lines, which must arrive whole. */
async function cpuMsOf(count: number, chars: number): Promise<number> {
  const spentMs = measureCpuTime()
  const code = `for (let n = 0; n < ${count}; n++) process.stdout.write('x'.repeat(${chars}) + '\\n')`
  const lengths: number[] = []
  await new Promise((resolve) => {
    new LineChild({
      command: process.execPath,
      args: ['-e', code],
      cwd: '.',
      env: {},
      log: silent,
      maxLineChars: 16 * MIB,
      onLine: ({ length }) => lengths.push(length) === count && resolve(undefined),
      onExit: () => {},
    })
  })
  expect(lengths).to.deep.equal(Array(count).fill(chars))
  return spentMs()
}
