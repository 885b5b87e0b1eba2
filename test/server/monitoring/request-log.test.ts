import { connect } from 'node:net'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { openSocket } from '../../support/response-socket.ts'
import { killRunning, startCli } from '../../support/run-cli.ts'
import { AGENTS, chat } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'
import { keysFile, Visitor } from '../../support/tenant-visitor.ts'

const ADAPTERS = 'ChatCompatApiAdapter,ResponsesCompatApiAdapter,McpApiAdapter'

describe('the log line of a request', () => {
  afterEach(killRunning)

  async function makeLogged() {
    const keys = keysFile([
      { name: 'ada', tenant: 'acme', scopes: ['run'] },
      { name: 'bob', scopes: ['run'] },
    ])
    const { dir } = await makeProject({ ...AGENTS, 'keys.yml': keys })
    const args = ['--adapter', ADAPTERS, '--port', '0', '--keys', 'keys.yml', '--trusted-proxy', '127.0.0.1']
    const server = startCli(['serve', ...args], { cwd: dir })
    const [, url = ''] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
    const lines = () =>
      server
        .output()
        .split('\n')
        .flatMap((line) => (line.includes('"reqId"') ? [JSON.parse(line)] : []))
    return { url, lines, server, ada: new Visitor(url, 'acme', 'ada'), bob: new Visitor(url, '', 'bob') }
  }

  it('says who asks for what, and from where, on every door; it never has the key', async () => {
    const { url, lines, server, ada, bob } = await makeLogged()
    const from = { 'x-forwarded-for': '203.0.113.9' }
    const sent: [Visitor, string, object][] = [
      [ada, '/v1/chat/completions', chat('echo', 'hi')],
      [bob, '/v1/responses', { model: 'desk/sales', input: 'hi' }],
      [
        ada,
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { message: 'hi' } } },
      ],
      [ada, '/v1/responses', { model: 'no-such', input: 'hi' }],
    ]
    for (const [visitor, path, body] of sent) await visitor.ask('POST', path, body, from)
    await ada.ask('POST', '/v1/chat/completions', chat('echo', 'hi'), {
      ...from,
      authorization: 'Bearer key-of-nobody',
    })
    const { socket, ask } = await openSocket(url, { ...ada.headers, ...from })
    await ask({ model: 'echo', input: 'hi' })
    socket.close()
    await eventually(() => expect(lines().length).to.equal(6))
    const address = '203.0.113.9'
    const ofAda = { address, key: 'ada', tenant: 'acme' }
    expect(lines().map(({ level: _, time: __, reqId: ___, msg: ____, ...facts }) => facts)).to.deep.equal([
      { ...ofAda, agent: 'echo' },
      { address, key: 'bob', agent: 'desk/sales' },
      { ...ofAda, agent: 'echo' },
      ofAda,
      { address },
      { ...ofAda, agent: 'echo' },
    ])
    expect(lines().map(({ msg }) => msg.split(' ').slice(0, 3).join(' '))).to.deep.equal([
      'POST /v1/chat/completions 200',
      'POST /v1/responses 200',
      'POST /mcp 200',
      'POST /v1/responses 404',
      'POST /v1/chat/completions 401',
      'WS /v1/responses 200',
    ])
    expect(server.output()).to.not.match(/key-of-/)
  })

  it('says of an upload that is cut off that its client has left', async () => {
    const { url, lines, ada } = await makeLogged()
    const { hostname, port } = new URL(url)
    const start = 'x'.repeat(300 * 1024)
    for (const length of [
      'Content-Length: 1000\r\n\r\n{',
      `Content-Length: 999999\r\n\r\n"${start}`,
      `Transfer-Encoding: chunked\r\n\r\nf4240\r\n"${start}`,
    ]) {
      const before = lines().length
      const socket = connect(Number(port), hostname)
      const head = `Host: ${hostname}\r\nAuthorization: ${ada.headers.authorization}\r\nContent-Type: application/json`
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n${length}`, () => socket.destroy())
      await eventually(() => expect(lines().length).to.equal(before + 1))
      const { level, key, msg } = lines().at(-1)
      expect([level, key, msg.replace(/ [\d.]+ \w+:/, ':')]).to.deep.equal([
        40,
        'ada',
        'POST /v1/chat/completions: The client has left before the answer was complete.',
      ])
    }
  })
})
