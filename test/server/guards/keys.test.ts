import { expect } from 'chai'
import { readKey } from '../../../src/server/options/option-spec.ts'
import { callCli } from '../../support/call-cli.ts'
import { killRunning, startCli } from '../../support/run-cli.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const ECHO = { 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]' }

describe('keys of adapters', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  const ADAPTERS = [
    ['MCP_API_KEY', 'McpApiAdapter'],
    ['CUSTOM_COMPAT_API_KEY', 'ChatCompatApiAdapter'],
    ['COMPAT_API_KEY', 'ChatCompatApiAdapter'],
    ['RESPONSES_API_KEY', 'ResponsesCompatApiAdapter'],
  ] as const
  for (const [variable, adapter] of ADAPTERS) {
    it(`an empty ${variable} is a usage error`, async () => {
      const isInFile = variable === 'MCP_API_KEY'
      const { dir } = await makeProject({ ...ECHO, ...(isInFile ? { '.env': `${variable}=\n` } : {}) })
      const env = isInFile ? {} : { [variable]: '' }
      const { exitCode, stderr } = await callCli(['serve', '--adapter', adapter, '--port', '0'], { cwd: dir, env })
      expect([exitCode, stderr]).to.deep.equal([
        2,
        `Error: ${variable} must not be empty.\n  ${adapter} would be open. Set ${variable} to a key, or unset it to serve without one.\n`,
      ])
    })
  }

  it('may be empty if another source sets one, or no adapter needs it', async () => {
    const { dir } = await makeProject(ECHO)
    for (const [args, env] of [
      [['--adapter', 'McpApiAdapter', '--mcp-api-key', 'k-1'], { MCP_API_KEY: '' }],
      [['--adapter', 'ChatCompatApiAdapter'], { MCP_API_KEY: '', CUSTOM_COMPAT_API_KEY: '', COMPAT_API_KEY: 'k-1' }],
    ] as const) {
      const server = startCli(['serve', '--port', '0', ...args], { cwd: dir, env })
      await server.printed(/listening at/)
      expect(server.output()).to.not.contain('has no key')
      await server.stop()
    }
  })

  it('are rejected if no client could send them', async () => {
    for (const key of ['  ', 'a b', 'schlüssel', 'tab\tkey', 'line\nkey']) {
      expect(() => readKey(key), key).to.throw(/^must [^\t\n]*$/)
    }
    const { dir } = await makeProject(ECHO)
    const args = ['serve', '--adapter', 'McpApiAdapter', '--port', '0']
    const { exitCode, stderr } = await callCli(args, { cwd: dir, env: { MCP_API_KEY: 'line\nkey' } })
    expect(exitCode).to.equal(2)
    expect(stderr).to.match(/^Error: .*MCP_API_KEY.* must /)
    expect(stderr).to.not.contain('line\nkey')
  })

  it('limit wrong attempts', async () => {
    const { app } = await makeServer({
      adapters: ['ChatCompatApiAdapter', 'McpApiAdapter'],
      compatApiKey: 'right',
      mcpApiKey: 'right',
      authRateLimit: 3,
    })
    const ask = (key: string, remoteAddress: string, url = '/compat/models') =>
      app.inject({
        method: url === '/mcp' ? 'POST' : 'GET',
        url,
        remoteAddress,
        headers: { authorization: `Bearer ${key}` },
      })
    const attempts = []
    for (const url of ['/compat/models', '/mcp', '/compat/models', '/compat/models', '/mcp']) {
      attempts.push((await ask('wrong', '10.0.0.1', url)).statusCode)
    }
    expect(attempts).to.deep.equal([401, 200, 401, 429, 429])
    expect((await ask('wrong', '10.0.0.1')).headers['retry-after']).to.equal('60')
    expect((await ask('wrong', '10.0.0.2')).statusCode).to.equal(401)
    // Behind a proxy everybody may have this address.
    expect((await ask('right', '10.0.0.1')).statusCode).to.equal(200)
    expect((await app.inject({ url: '/compat/models', remoteAddress: '10.0.0.1' })).statusCode).to.equal(401)
  })
})
