import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

const BIN = new URL('../../bin/run.js', import.meta.url).pathname
const ADAPTERS = '--adapter ChatCompatApiAdapter,ResponsesCompatApiAdapter,McpApiAdapter,UiApiAdapter'

describe('a process that may open few files', () => {
  it('serves every adapter with 80', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': 'id: echo\nmodules: [{ id: m, module: echo }]' })
    const command = `ulimit -n 80; exec node ${BIN} serve ${ADAPTERS} --port 0`
    const server = spawn('sh', ['-c', command], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (text += chunk))
    while (!/listening at/.test(text) && server.exitCode === null)
      await Promise.race([once(server.stdout, 'data'), once(server, 'exit')])
    const [, address] = /(http:\/\/[\d.:]+)/.exec(text) ?? []
    expect(address, text).to.be.a('string')
    const body = JSON.stringify({ model: 'echo', input: 'hi', messages: [{ role: 'user', content: 'hi' }] })
    const headers = { 'content-type': 'application/json' }
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const reply = await fetch(address + path, { method: 'POST', headers, body })
      expect(reply.status, await reply.text()).to.equal(200)
    }
    server.kill()
    await once(server, 'exit')
  }).timeout(60_000)

  it('ends with one line and the next step where they are too few to start', async () => {
    // Node 20 opens its modules side by side, later versions one after another.
    const [major = 0] = process.versions.node.split('.').map(Number)
    const limits = major < 22 ? [50] : [23, 22, 21, 20]
    const check = (limit: number) =>
      promisify(execFile)('sh', ['-c', `ulimit -n ${limit}; exec node ${BIN} check`]).catch((error) => error)
    const ended = await Promise.all(limits.map(check))
    expect(ended.map(({ stderr, code }) => ({ stderr, code }))).to.deep.include({
      stderr: 'Error: This process may not open enough files. Raise the limit: ulimit -n 1024\n',
      code: 1,
    })
  }).timeout(60_000)
})
