import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

const GROUP = fileURLToPath(new URL('../support/group-process.ts', import.meta.url))
/** Listens, and ends by a fault when it is told to. */
const PROGRAM = `require('node:http').createServer((request, reply) => process.exit(3)).listen(0, '127.0.0.1', function () {
  console.log('listens at ' + this.address().port)
})
process.on('message', () => process.exit(0))`

describe('a group of processes that the system has no room for', () => {
  async function start(failing: string) {
    const { path } = await makeProject({ 'program.cjs': PROGRAM })
    const group = execa('node', ['--import=tsx', GROUP, path('program.cjs'), failing], { reject: false, all: true })
    let text = ''
    group.all.on('data', (piece) => {
      text += piece
    })
    /** Lines that match so far, once there are as many. */
    const says = (pattern: RegExp, count = 1) =>
      eventually(() => {
        const lines = text.split('\n').filter((line) => pattern.test(line))
        expect(lines, text).to.have.length(count)
        return lines
      })
    return { group, says }
  }

  it('ends with 1 where the first cannot be made', async () => {
    const { group } = await start('1')
    const { exitCode, all } = await group
    expect([exitCode, all]).to.deep.equal([1, 'fork 1'])
  })

  it('tries it again where one is to be replaced, and says so', async () => {
    const { group, says } = await start('2')
    const [line = ''] = await says(/^listens at/)
    await fetch(`http://127.0.0.1:${line.split(' ').at(-1)}`).catch(() => {})
    await says(/^A process could not start\. It is tried again in 2 s\.$/)
    await says(/^listens at/, 2)
    group.kill('SIGTERM')
    expect((await group).exitCode).to.equal(0)
    await says(/^fork/, 3)
  }).timeout(20_000)
})
