import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { LocalCallMemory } from '../../../src/server/adapters/mcp/call-memory/local-call-memory.ts'
import { HandshakeProtocol } from '../../../src/server/adapters/mcp/handshake-protocol.ts'
import { toCall } from '../../../src/server/adapters/mcp/tools/call.ts'
import { countTurns } from '../../support/count-turns.ts'
import { makeMcp } from '../../support/mcp.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
const failed = (id: unknown, code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })

describe('MCP requests with a handshake', () => {
  afterEach(closeServers)

  it('start with a handshake', async () => {
    const { ask } = await makeMcp()
    const initialize = (protocolVersion: unknown) =>
      ask({ id: 1, method: 'initialize', params: { protocolVersion, clientInfo: {}, capabilities: {} } })
    for (const known of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      expect(await initialize(known)).to.deep.equal({
        jsonrpc: '2.0',
        id: 1,
        result: {
          protocolVersion: known,
          serverInfo: { name: 'agent-host', version },
          capabilities: { tools: {} },
        },
      })
    }
    for (const unknown of ['1.0', '2026-07-28', '2030-01-01']) {
      expect((await initialize(unknown)).result.protocolVersion).to.equal('2024-11-05')
    }
    const message = 'Invalid params: protocolVersion must be a string'
    for (const wrong of [undefined, 7, null]) expect(await initialize(wrong)).to.deep.equal(failed(1, -32602, message))
  })

  it('list the agents as tools, one for each entry point where there are several', async () => {
    const { ask } = await makeMcp()
    const message = { type: 'string', description: 'The text to send to the agent' }
    const inputSchema = { type: 'object', properties: { message }, required: ['message'] }
    const expected = [
      { name: 'act', title: 'The actor', description: 'Does what it is told', inputSchema },
      { name: 'desk.sales', description: 'The agent desk (handled by sales)', inputSchema },
      { name: 'desk.support', description: 'The agent desk (handled by support)', inputSchema },
      { name: 'echo', description: 'Says it again', inputSchema },
    ]
    for (const params of [undefined, {}, { cursor: null }]) {
      const { result } = await ask({ id: 'a', method: 'tools/list', params })
      expect(Object.keys(result)).to.deep.equal(['tools'])
      const { tools } = result
      expect(tools.filter(({ name }: Json) => expected.some((tool) => tool.name === name))).to.deep.equal(expected)
      expect(tools.map(({ name }: Json) => name)).to.deep.equal([...tools.map(({ name }: Json) => name)].sort())
    }
  })

  it('list many agents page by page', async () => {
    const { ask, host } = await makeMcp()
    for (let n = 0; n < 1500; n++) await host.register({ id: `many-${n}`, modules: [{ id: 'm', module: 'echo' }] })
    const first = (await ask({ id: 1, method: 'tools/list' })).result
    expect([first.tools.length, typeof first.nextCursor]).to.deep.equal([1000, 'string'])
    host.unregister(first.tools[999].name)
    const second = (await ask({ id: 1, method: 'tools/list', params: { cursor: first.nextCursor } })).result
    expect(second.nextCursor).to.equal(undefined)
    const names = [...first.tools, ...second.tools].map(({ name }: Json) => name)
    expect(new Set(names).size).to.equal(names.length)
    expect(names.filter((name) => name.startsWith('many-'))).to.have.length(1500)
    for (const cursor of ['', 'x', 7, '!!', {}]) {
      expect((await ask({ id: 1, method: 'tools/list', params: { cursor } })).error.code, String(cursor)).to.equal(
        -32602,
      )
    }
  })

  it('call agents and entry points, also without a handshake, on both addresses', async () => {
    const { call, post } = await makeMcp()
    const result = (text: string) => ({ content: [{ type: 'text', text }] })
    expect((await call('echo', { message: 'hello' })).result).to.deep.equal(result('hello'))
    expect((await call('desk.sales', { message: 'x' })).result).to.deep.equal(result('sales x'))
    expect((await call('desk', { message: 'x' })).result).to.deep.equal(result('support x'))
    expect((await call('act', { message: 'nothing' })).result).to.deep.equal(result(''))
    const params = { name: 'echo', arguments: { message: 'hi' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    for (const url of ['/mcp', '/mcp/']) {
      for (const accept of ['', 'application/json, text/event-stream', '*/*']) {
        const reply = await post(body, { accept, 'mcp-protocol-version': '1999-01-01' }, url)
        expect([reply.statusCode, reply.json().result]).to.deep.equal([200, result('hi')])
        expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8')
      }
    }
  })

  it('return the id unchanged', async () => {
    const { ask } = await makeMcp()
    for (const id of [0, 1, -1, 2 ** 40, 1.5, '', '1', 'ä "quoted"', 'x'.repeat(500)]) {
      expect(await ask({ id, method: 'ping' })).to.deep.equal({ jsonrpc: '2.0', id, result: {} })
    }
  })

  it('do not answer notifications and responses', async () => {
    const { post } = await makeMcp()
    for (const message of [
      { method: 'notifications/initialized' },
      { method: 'notifications/unknown', params: {} },
      { method: 'tools/call', params: { name: 'nobody' } },
      { id: 7, result: {} },
      { id: 7, error: { code: 1, message: 'x' } },
    ]) {
      const reply = await post(JSON.stringify({ jsonrpc: '2.0', ...message }))
      expect([reply.statusCode, reply.body], JSON.stringify(message)).to.deep.equal([202, ''])
    }
  })

  it('fail with JSON-RPC errors and status 200', async () => {
    const { post } = await makeMcp({ logLevel: 'silent' })
    const request = (message: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
    const called = (params: unknown) => request({ method: 'tools/call', params })
    const cases: [body: string, id: unknown, code: number, message: RegExp][] = [
      ['{', null, -32700, /^Parse error: /],
      ['', null, -32700, /^Parse error: /],
      ['nonsense', null, -32700, /^Parse error: /],
      ['{"jsonrpc":"2.0","id":1,"method":"ping"}x', null, -32700, /^Parse error: /],
      ['['.repeat(1000), null, -32700, /^Parse error: it is nested deeper than 100 levels/],
      ['null', null, -32600, /^Invalid Request: a message must be an object/],
      ['7', null, -32600, /^Invalid Request/],
      ['"ping"', null, -32600, /^Invalid Request/],
      ['{}', null, -32600, /^Invalid Request: jsonrpc must be "2.0"/],
      ['{"id":1,"method":"ping"}', 1, -32600, /jsonrpc must be "2.0"/],
      ['{"jsonrpc":"1.0","id":"a","method":"ping"}', 'a', -32600, /jsonrpc must be "2.0"/],
      [request({}), 1, -32600, /method must be a string/],
      [request({ method: '' }), 1, -32600, /method must be a string/],
      [request({ method: 7 }), 1, -32600, /method must be a string/],
      [request({ id: null, method: 'ping' }), null, -32600, /id must be a string or a number/],
      [request({ id: true, method: 'ping' }), null, -32600, /id must be a string or a number/],
      [request({ id: {}, method: 'ping' }), null, -32600, /id must be a string or a number/],
      [request({ method: 'tools/list', params: [] }), 1, -32602, /params must be an object/],
      [request({ method: 'tools/list', params: 'x' }), 1, -32602, /params must be an object/],
      [request({ method: 'resources/list' }), 1, -32601, /^Method not found: resources\/list$/],
      [request({ method: 'server/discover' }), 1, -32601, /^Method not found: server\/discover$/],
      [called(undefined), 1, -32602, /name must be the name of an agent/],
      [called({ name: 7 }), 1, -32602, /name must be the name of an agent/],
      [called({ name: 'nobody', arguments: { message: 'x' } }), 1, -32602, /There is no agent 'nobody'/],
      [called({ name: 'desk.nobody', arguments: { message: 'x' } }), 1, -32602, /There is no agent 'desk.nobody'/],
      [called({ name: 'echo' }), 1, -32602, /arguments must be an object/],
      [called({ name: 'echo', arguments: 'x' }), 1, -32602, /arguments must be an object/],
      [called({ name: 'echo', arguments: {} }), 1, -32602, /arguments.message must be a string/],
      [called({ name: 'echo', arguments: { message: 7 } }), 1, -32602, /arguments.message must be a string/],
      [called({ name: 'act', arguments: { message: 'fail' } }), 1, -32603, /^Agent execution failed$/],
    ]
    for (const [body, id, code, message] of cases) {
      const reply = await post(body)
      expect(reply.statusCode, body).to.equal(200)
      const answer = reply.json()
      expect([answer.jsonrpc, answer.id, answer.error.code], body).to.deep.equal(['2.0', id, code])
      expect(answer.error.message).to.match(message)
    }
  })

  it("show the agent's error in debug mode", async () => {
    const { call } = await makeMcp({ debug: true })
    expect((await call('act', { message: 'fail' })).error.message).to.equal('Agent execution failed: secret detail')
  })

  it('survive any body', async () => {
    const { post } = await makeMcp({ logLevel: 'silent' })
    const word = fc.constantFrom('2.0', 'ping', 'tools/call', 'tools/list', 'initialize', 'act', 'say x', 'cursor', '')
    const value = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(word, fc.jsonValue(), fc.array(tie('any'), { maxLength: 3 })),
    })).any
    const keys = ['jsonrpc', 'id', 'method', 'params', 'name', 'arguments', 'message', '_meta', 'result']
    const message = fc.dictionary(
      fc.constantFrom(...keys),
      fc.oneof(value, fc.dictionary(fc.constantFrom(...keys), value)),
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(message, fc.array(message, { maxLength: 4 }), value), async (body) => {
        const reply = await post(JSON.stringify(body) ?? '')
        expect(reply.statusCode).to.be.oneOf([200, 202, 400])
        if (reply.statusCode !== 202)
          expect(reply.json()).to.satisfy((answer: Json) => isAnswer(answer) || Array.isArray(answer))
      }),
      { numRuns: 500 },
    )
  })

  it('are JSON POSTs of limited size', async () => {
    const { app, post } = await makeMcp({ bodyLimit: 1000 })
    for (const method of ['GET', 'DELETE', 'PUT'] as const) {
      for (const url of ['/mcp', '/mcp/']) {
        const reply = await app.inject({ method, url, headers: { accept: 'text/event-stream' } })
        expect([reply.statusCode, reply.headers.allow], `${method} ${url}`).to.deep.equal([405, 'POST'])
      }
    }
    expect((await post('{}', { 'content-type': 'text/plain' })).statusCode).to.equal(415)
    expect((await post(' '.repeat(2000))).statusCode).to.equal(413)
  })

  describe('in a batch', () => {
    const batch = async (values: unknown[], headers = {}) => {
      const { post } = await makeMcp()
      return post(JSON.stringify(values), headers)
    }
    const ping = (id?: number) => ({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method: 'ping' })
    const called = (id: number, message: string) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'act', arguments: { message } },
    })

    it('are answered together, each on its own', async () => {
      const reply = await batch([ping(1), ping(), called(2, 'say x'), 7, called(3, 'fail')])
      expect(reply.json()).to.deep.equal([
        { jsonrpc: '2.0', id: 1, result: {} },
        { jsonrpc: '2.0', id: 2, result: { content: [{ type: 'text', text: 'x' }] } },
        failed(null, -32600, 'Invalid Request: a message must be an object'),
        failed(3, -32603, 'Agent execution failed'),
      ])
    })

    it('of many calls listen for a disconnect once', async () => {
      const warnings: Error[] = []
      const note = (warning: Error) => warnings.push(warning)
      process.on('warning', note)
      await batch(Array.from({ length: 20 }, (_, n) => called(n, 'say x')))
      await new Promise((resolve) => setImmediate(resolve))
      process.off('warning', note)
      expect(warnings).to.deep.equal([])
    })

    it('take a turn of the event loop each, so that others are served between them', async () => {
      const { post } = await makeMcp()
      const lists = Array.from({ length: 100 }, (_, id) => ({ ...ping(id), method: 'tools/list' }))
      const turns = countTurns()
      const answers: Json[] = (await post(JSON.stringify(lists))).json()
      expect(turns()).to.be.greaterThan(90)
      expect(answers.map(({ id }) => id)).to.deep.equal(lists.map(({ id }) => id))
    })

    it('are not begun once their client has left', async () => {
      const begun: unknown[] = []
      const tools = { call: () => toCall(new Promise<never>(() => begun.push('a call'))) }
      const protocol = new HandshakeProtocol(tools as never, new LocalCallMemory())
      const answer = { destroyed: false }
      const peer = { version: '2025-03-26', tenant: '', answer } as never
      const leave = () => {
        answer.destroyed = true
      }
      void protocol.answerBatch([called(1, 'say x'), called(2, 'say x')], peer, leave)
      for (let turn = 0; turn < 5; turn++) await nextTurn()
      expect(begun).to.deep.equal(['a call'])
    })

    it('are not answered when all are notifications', async () => {
      const reply = await batch([ping(), ping()])
      expect([reply.statusCode, reply.body]).to.deep.equal([202, ''])
    })

    it('are rejected if unsupported or too large', async () => {
      const refused = async (values: unknown[], headers = {}) => (await batch(values, headers)).json().error.message
      expect(await refused([])).to.equal('Invalid Request: a batch must hold a message')
      expect(await refused(Array(101).fill(ping(1)))).to.equal('Invalid Request: a batch may hold 100 messages')
      expect(await refused([{ ...ping(1), method: 'initialize' }])).to.match(/initialize must not be part of a batch/)
      expect(await refused([ping(1)], { 'mcp-protocol-version': '2025-06-18' })).to.match(/2025-06-18 .* no batches/)
    })
  })

  describe('with a key', () => {
    it('need it, and get these errors in this order, whatever the body', async () => {
      const { post } = await makeMcp({ mcpApiKey: 'key-1234' })
      const cases: [Record<string, string>, string][] = [
        [{}, 'Missing Authorization header'],
        [{ authorization: '' }, 'Invalid Authorization header format'],
        [{ authorization: 'key-1234' }, 'Invalid Authorization header format'],
        [{ authorization: 'bearer key-1234' }, 'Invalid Authorization header format'],
        [{ authorization: 'Basic key-1234' }, 'Invalid Authorization header format'],
        [{ authorization: 'Bearer key-12345' }, 'Invalid API key'],
        [{ authorization: 'Bearer  key-1234' }, 'Invalid API key'],
      ]
      for (const [headers, message] of cases) {
        for (const body of ['{"jsonrpc":"2.0","id":1,"method":"ping"}', '{', '[]']) {
          const reply = await post(body, headers)
          expect([reply.statusCode, reply.json()], message).to.deep.equal([200, failed(null, -32001, message)])
        }
      }
      const reply = await post('{"jsonrpc":"2.0","id":1,"method":"ping"}', { authorization: 'Bearer key-1234' })
      expect(reply.json()).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} })
    })

    it('fall back to MCP_API_KEY, in a program too', async () => {
      process.env.MCP_API_KEY = 'from-environment'
      try {
        const { post } = await makeMcp()
        const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
        expect((await post(ping)).json()).to.deep.equal(failed(null, -32001, 'Missing Authorization header'))
        const reply = await post(ping, { authorization: 'Bearer from-environment' })
        expect(reply.json()).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} })
      } finally {
        delete process.env.MCP_API_KEY
      }
    })
  })
})

function isAnswer(answer: Json): boolean {
  return answer.jsonrpc === '2.0' && ('result' in answer || typeof answer.error?.code === 'number')
}
