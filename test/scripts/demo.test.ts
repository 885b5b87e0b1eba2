import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runNode } from '../support/run-cli.ts'

const DEMO = fileURLToPath(new URL('../../scripts/demo.js', import.meta.url))

describe('the demo', () => {
  it('--once shows a question, a tool call and an answer, and exits with 0', async () => {
    const { exitCode, stdout, stderr } = await runNode([DEMO, '--once', '--port', '0'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    expect(stdout).to.match(/^Created a project in \S+myproj, for as long as the demo runs\.\n\nQuestion: /)
    expect(stdout).to.match(/^Question: What time is it in Tokyo\?$/m)
    expect(stdout).to.match(/^Tool call: currentTime\(\{"timezone":"Asia\/Tokyo"\}\) → .*\d\d:\d\d:\d\d GMT\+9$/m)
    expect(stdout).to.match(/^Answer: .*\d\d:\d\d:\d\d GMT\+9$/m)
  })

  it('reports a port that is in use, and exits with 1', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => other.once('listening', resolve))
      const { port } = other.address() as { port: number }
      const { exitCode, stderr } = await runNode([DEMO, '--once', '--port', `${port}`])
      expect({ exitCode, stderr }).to.deep.equal({
        exitCode: 1,
        stderr: `Error: Port ${port} is in use.\n  Choose another: agent-host dev --port ${port + 1}\n`,
      })
    } finally {
      other.close()
    }
  })
})
