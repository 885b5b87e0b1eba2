import { expect } from 'chai'
import { withExactId } from '../../../src/server/adapters/mcp/json-rpc.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { eventually } from '../../support/eventually.ts'
import { actState, makeMcp } from '../../support/mcp.ts'
import { closeServers } from '../../support/server.ts'

describe('JSON-RPC over HTTP', () => {
  afterEach(closeServers)

  it('answers HTTP errors as JSON-RPC errors', async () => {
    const { post } = await makeMcp({ bodyLimit: 1000 })
    const tooLarge = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(2000) }))
    expect([tooLarge.statusCode, tooLarge.json()]).to.deep.equal([
      413,
      { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request: The body is too large' } },
    ])
    for (const type of ['text/plain', 'application/json; charset=latin1', 'application/json;charset="utf-16"']) {
      const other = await post('{}', { 'content-type': type })
      expect([other.statusCode, other.json().error.code], type).to.deep.equal([415, -32600])
    }
    for (const type of ['application/json; charset=utf-8', 'application/json;charset="UTF8"']) {
      expect((await post('{"jsonrpc":"2.0","id":1,"method":"ping"}', { 'content-type': type })).statusCode).to.equal(
        200,
      )
    }
  })

  it('does not fail if the host is not an address', async () => {
    const { post } = await makeMcp({ host: '0.0.0.0' })
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta } })
    for (const host of ['[', 'a b', 'localhost:99999', '']) {
      const { statusCode } = await post(message, { host, 'mcp-protocol-version': '2026-07-28' })
      expect([host, statusCode < 500]).to.deep.equal([host, true])
    }
  })

  it('never answers a notification, even an invalid one', async () => {
    const { post } = await makeMcp()
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized', params: 5 },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: [] },
      { jsonrpc: '2.0', method: 'no/such' },
      { jsonrpc: '2.0', method: '' },
    ]) {
      const { statusCode, body } = await post(JSON.stringify(message))
      expect([statusCode, body], JSON.stringify(message)).to.deep.equal([202, ''])
    }
  })

  it('accepts null params, and returns ids digit by digit', async () => {
    const { post } = await makeMcp()
    for (const id of ['12345678901234567890', '9007199254740993', '-9007199254740995', '7', '"12345678901234567890"']) {
      const { body } = await post(`{"jsonrpc":"2.0","id": ${id},"method":"ping","params":null}`)
      expect(body).to.equal(`{"jsonrpc":"2.0","id":${id},"result":{}}`)
    }
    expect((await post('{"jsonrpc":"2.0","id":9007199254740993,"method":"no"}')).body).to.contain(
      '"id":9007199254740993,',
    )
  })

  it('finds its id among millions of others, or of none that is sure', () => {
    const spentMs = measureCpuTime()
    const message = { id: 2 ** 53 }
    const others = '{"id":1},'.repeat(4_000_000)
    expect(withExactId(message, `{"list":[${others}{}],"id":9007199254740993}`)).to.deep.equal({
      id: 9007199254740993n,
    })
    expect(withExactId(message, '{"id":9007199254740993,"other":{"id":9007199254740992}}')).to.equal(message)
    expect(spentMs()).to.be.below(700)
  })

  it('lets only the same session cancel a call', async () => {
    const { call, post } = await makeMcp()
    actState().aborted.length = 0
    const begun = (...names: string[]) => eventually(() => expect(actState().begun).to.include.members(names))
    const cancel = (headers: Record<string, string>) =>
      post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}', headers)
    const headers = { 'user-agent': 'same' }
    const calling = call('act', { message: 'hang mine' }, headers)
    await begun('mine')
    await cancel(headers)
    await cancel({ ...headers, 'mcp-session-id': 'guessed' })
    const session = { ...headers, 'mcp-session-id': 's-1' }
    const own = call('act', { message: 'hang own' }, session)
    await begun('own')
    await post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}', session)
    await eventually(() => expect(actState().aborted).to.deep.equal(['own']))
    await own
    const hang = (id: number, name: string) => {
      const params = { name: 'act', arguments: { message: `hang ${name}` } }
      return post(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }), session)
    }
    const twins = ['first-twin', 'second-twin'].map((name) => hang(3, name))
    await begun('first-twin', 'second-twin')
    await post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}', session)
    const last = hang(4, 'last')
    await begun('last')
    await post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}', session)
    await eventually(() => expect(actState().aborted).to.deep.equal(['own', 'last']))
    await closeServers()
    await Promise.all([calling, last, ...twins])
  })
})
