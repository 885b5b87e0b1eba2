import { expect } from 'chai'
import OpenAI from 'openai'
import { readApiKeys } from '../../../src/server/guards/api-keys.ts'
import { openSocket } from '../../support/response-socket.ts'
import { type Json, makeResponses } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'

const KEYS = 'alice:run+approve:key-of-alice,ci:run:key-of-ci,bob:approve:key-of-bob'
const FILES = {
  ...SHOP_MODULES,
  'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
}

describe('named keys', () => {
  afterEach(closeServers)

  async function makeShop(responsesApiKey = KEYS) {
    const { app, listen } = await makeResponses({ responsesApiKey }, FILES)
    const ask = async (key: string, path: string, payload?: object) => {
      const headers = { authorization: `Bearer ${key}` }
      const method = payload ? 'POST' : 'GET'
      const reply = await app.inject({ method, url: path, headers, ...(payload ? { payload } : {}) })
      return { status: reply.statusCode, body: reply.json() as Json }
    }
    const wait = async () => (await ask('key-of-ci', '/compat/responses', { model: 'shop', input: 'please' })).body
    return { ask, wait, listen }
  }

  it('come from the option for a single key, which still accepts a plain key', () => {
    const both = ['run', 'approve']
    expect(readApiKeys('a,b:c:d')).to.deep.equal([{ name: undefined, scopes: both, secret: 'a,b:c:d' }])
    expect(readApiKeys('a:approve+run:b:c,d:run:e')).to.deep.equal([
      { name: 'a', scopes: ['approve', 'run'], secret: 'b:c' },
      { name: 'd', scopes: ['run'], secret: 'e' },
    ])
    expect(() => readApiKeys('a:run:secret,other')).to.throw(/^must be one key, or entries (?!.*secret)/)
    expect(() => readApiKeys('a:run:secret,b:run:secret')).to.throw(/^must not (?!.*secret)/)
  })

  it('grant their scopes: run for agents, approve for the inbox', async () => {
    const { ask, wait } = await makeShop()
    const { id } = await wait()
    const statuses = async (key: string) =>
      Promise.all(['/compat/approvals', `/compat/responses/${id}`].map(async (path) => (await ask(key, path)).status))
    expect(await statuses('key-of-alice')).to.deep.equal([200, 200])
    expect(await statuses('key-of-ci')).to.deep.equal([403, 200])
    expect(await statuses('key-of-bob')).to.deep.equal([200, 403])
    expect(await statuses('other')).to.deep.equal([401, 401])
    const { body } = await ask('key-of-ci', '/v1/approvals')
    expect(body.error).to.deep.include({ message: "The key 'ci' lacks the scope 'approve'", type: 'permission_error' })
  })

  it('are recorded in decisions, which need the scope', async () => {
    const { ask, wait } = await makeShop()
    await wait()
    const [{ id }] = (await ask('key-of-bob', '/compat/approvals')).body.data
    expect((await ask('key-of-ci', `/compat/approvals/${id}`, { decision: 'approve' })).status).to.equal(403)
    const { body } = await ask('key-of-bob', `/compat/approvals/${id}`, { decision: 'reject' })
    expect([body.status, body.decided_by]).to.deep.equal(['rejected', 'bob'])
  })

  it('need the scope even for decisions in the input of a response', async () => {
    const { ask, wait } = await makeShop()
    const { id, output } = await wait()
    const [request] = output.filter(({ type }: Json) => type === 'mcp_approval_request')
    const input = [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: true }]
    const decide = (key: string) => ask(key, '/compat/responses', { model: 'shop', input, previous_response_id: id })
    expect((await decide('key-of-ci')).status).to.equal(403)
    expect((await ask('key-of-bob', `/compat/approvals/${request.id}`)).body.status).to.equal('pending')
    expect((await decide('key-of-alice')).status).to.equal(200)
    expect((await ask('key-of-bob', `/compat/approvals/${request.id}`)).body.decided_by).to.equal('alice')
  })

  it('apply to WebSockets as to requests', async () => {
    const { wait, listen } = await makeShop()
    const { id, output } = await wait()
    const [request] = output.filter(({ type }: Json) => type === 'mcp_approval_request')
    const input = [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: true }]
    const { ask, socket } = await openSocket(await listen(), { authorization: 'Bearer key-of-ci' })
    const [event] = await ask({ model: 'shop', input, previous_response_id: id })
    expect(JSON.stringify(event)).to.contain("lacks the scope 'approve'")
    socket.close()
  })

  it('without names keep every right', async () => {
    const { ask } = await makeShop('plain')
    const { body } = await ask('plain', '/compat/responses', { model: 'shop', input: 'please' })
    const [{ id }] = (await ask('plain', '/compat/approvals')).body.data
    const decided = await ask('plain', `/compat/approvals/${id}`, { decision: 'approve' })
    expect([body.status, decided.body.decided_by]).to.deep.equal(['completed', '127.0.0.1, with the key'])
  })

  it('work for the other adapters', async () => {
    const keys = { compatApiKey: KEYS, mcpApiKey: KEYS }
    const { app } = await makeServer({ adapters: ['ChatCompatApiAdapter', 'McpApiAdapter'], ...keys }, FILES)
    const models = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` }
      return (await app.inject({ url: '/compat/models', headers })).statusCode
    }
    expect([await models('key-of-ci'), await models('key-of-bob')]).to.deep.equal([200, 403])
    const ping = async (key: string) => {
      const payload = { jsonrpc: '2.0', id: 1, method: 'ping' }
      return (
        await app.inject({ method: 'POST', url: '/mcp', payload, headers: { authorization: `Bearer ${key}` } })
      ).json()
    }
    expect((await ping('key-of-ci')).result).to.deep.equal({})
    expect((await ping('key-of-bob')).error.message).to.equal("The key 'bob' lacks the scope 'run'")
  })

  it('work with the official client', async () => {
    const { listen } = await makeShop()
    const client = new OpenAI({ baseURL: `${await listen()}/v1`, apiKey: 'key-of-ci' })
    const waiting = await client.responses.create({ model: 'shop', input: 'please' })
    const request = waiting.output.find((item) => item.type === 'mcp_approval_request')
    const deciding = client.responses.create({
      model: 'shop',
      previous_response_id: waiting.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve: true }],
    })
    expect(await deciding.catch((error) => error)).to.be.instanceOf(OpenAI.PermissionDeniedError)
  })
})
