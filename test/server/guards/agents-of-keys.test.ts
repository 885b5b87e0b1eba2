import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { openSocket } from '../../support/response-socket.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { type Answer, keysFile, madeUp, Visitor } from '../../support/tenant-visitor.ts'
import { TENANT_OPTIONS, TENANT_PROJECT } from '../../support/tenant-walk.ts'

const ALL = ['run', 'approve', 'debug']
const KEYS = keysFile([
  { name: 'all', tenant: 'acme', scopes: ALL },
  { name: 'tell', tenant: 'acme', scopes: ALL, agents: ['tel*'] },
  { name: 'clerk', tenant: 'acme', scopes: ALL, agents: ['clerk'] },
])
const SLOW = {
  'agents/slow.yml': 'id: slow\nmodules: [{ id: main, module: slow }]',
  'modules/slow.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], create: () => ({
  handleText: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))) }) })`,
}
const PLAIN = `export class PlainAdapter {
  constructor(options) { this.options = options }
  adapt(app) {
    const { host, tenantOf, runs } = this.options
    app.post('/plain', async (request) => {
      const { agent, id } = request.body
      const found = id === undefined ? undefined : await runs.of(tenantOf(request)).find(id)
      const listed = host.list().map((info) => info.id)
      const text = agent && (await host.run(agent, 'hi', { tenant: tenantOf(request) })).text
      return { listed, text, found: found?.id ?? null }
    })
  } }`

describe('a key with agents', () => {
  afterEach(closeServers)

  async function makeKeyed() {
    const files = { ...TENANT_PROJECT, ...SLOW, 'keys.yml': KEYS, 'plain.ts': PLAIN }
    const adapters = [...(TENANT_OPTIONS.adapters ?? []), './plain.ts#PlainAdapter']
    const options = { ...TENANT_OPTIONS, adapters, development: true }
    const { listen } = await makeServer(options, files)
    const url = await listen()
    const visitor = (name: string) => new Visitor(url, 'acme', name)
    return { url, all: visitor('all'), tell: visitor('tell'), clerk: visitor('clerk') }
  }

  const create = (visitor: Visitor, body: object, headers = {}) =>
    visitor.ask('POST', '/v1/responses', { model: 'shop', input: 'pay', ...body }, headers)
  const rpc = (visitor: Visitor, method: string, params: object = {}) =>
    visitor.ask('POST', '/mcp', { jsonrpc: '2.0', id: 1, method, params })
  const act = (visitor: Visitor, query: string) =>
    visitor.ask('POST', '/api/ui/graphql', { query }, { origin: visitor.url })
  /** The answer about something that exists must be that about something that does not. */
  async function isHidden(id: string, ask: (id: string) => Promise<Answer>) {
    const known = madeUp(id)
    const [given, made] = [await ask(id), await ask(known)]
    expect([given.status, given.body.replaceAll(id, 'ID')]).to.deep.equal([
      made.status,
      made.body.replaceAll(known, 'ID'),
    ])
    expect(given.status).to.equal(404)
  }

  it('lists its agents alone, on every door', async () => {
    const { tell, clerk, all } = await makeKeyed()
    const ids = (answer: Json): string[] => answer.data.map(({ id }: Json) => id)
    expect(ids((await tell.ask('GET', '/v1/models')).json)).to.deep.equal(['teller'])
    expect(ids((await tell.ask('GET', '/compat/models')).json)).to.deep.equal(['teller'])
    expect((await all.ask('GET', '/v1/models')).json.data.length).to.be.greaterThan(3)
    expect((await tell.ask('GET', '/v1/models/shop')).status).to.equal(404)
    const { tools } = (await rpc(tell, 'tools/list')).json.result
    expect(tools.map(({ name }: Json) => name)).to.deep.equal(['teller'])
    const { resources } = (await rpc(all, 'resources/list')).json.result
    expect(JSON.stringify(resources)).to.contain('teller')
    // It has no agent with any, and so the method does not exist for it.
    expect((await rpc(clerk, 'resources/list')).json.error.code).to.equal(-32601)
    const { data } = (await act(tell, '{ list_agents { id } problems { message } }')).json
    expect(data.list_agents).to.deep.equal([{ id: 'teller' }])
    const page = (await act(tell, '{ agent_config(agent_id: "shop") { id } }')).json
    expect(page.errors[0].message).to.equal("Agent 'shop' not found")
    expect((await tell.ask('POST', '/plain', {})).json.listed).to.deep.equal(['teller'])
  })

  it('runs its agents alone, on every door; what those call is their matter', async () => {
    const { tell, clerk, all, url } = await makeKeyed()
    const unknown = await create(tell, { model: 'no-such' })
    const hidden = await create(tell, { model: 'shop' })
    expect([hidden.status, hidden.body.replace('shop', 'no-such')]).to.deep.equal([404, unknown.body])
    expect((await create(tell, { model: 'tellr' })).body).to.contain("Did you mean 'teller'?")
    expect((await create(tell, { model: 'shopp' })).body).to.not.contain("shop'?")
    expect((await create(tell, { background: true })).status).to.equal(404)
    const body = { model: 'shop', messages: [{ role: 'user', content: 'pay' }] }
    expect((await tell.ask('POST', '/v1/chat/completions', body)).status).to.equal(404)
    expect((await tell.ask('POST', '/compat/chat/completions', body)).body).to.equal('{"detail":"model not found"}')
    expect((await rpc(tell, 'tools/call', { name: 'shop', arguments: { message: 'pay' } })).json.error.code).to.equal(
      -32602,
    )
    expect((await tell.ask('POST', '/plain', { agent: 'shop' })).status).to.equal(400)
    expect((await tell.ask('POST', '/plain', { agent: 'teller' })).json.text).to.equal('hi sees  as acme')
    const call = 'mutation { call_tool(agent_id: "shop", module_id: "tools", name: "pay", arguments: {}) { error } }'
    expect((await act(tell, call)).body).to.contain("There is no agent 'shop'")
    const { socket, ask } = await openSocket(url, tell.headers)
    expect((await ask({ model: 'shop', input: 'pay' })).at(-1).status).to.equal(404)
    expect((await ask({ model: 'teller', input: 'hi' })).at(-1).type).to.equal('response.completed')
    socket.close()
    const { json } = await create(clerk, { model: 'clerk' })
    expect(json.output[0].name).to.equal('pay')
    const changes = [{ module: 'memory', path: ['min_score'], value: -0.5 }]
    const vary = (visitor: Visitor) =>
      visitor.ask('POST', '/api/ui/variants', { agent_id: 'teller', changes }, { origin: url })
    const variant = await vary(all)
    expect(variant.status).to.equal(201)
    const given = { 'x-agent-variant': variant.json.id }
    expect((await create(tell, { model: 'teller' }, given)).status).to.equal(200)
    expect((await create(clerk, { model: 'clerk' }, given)).body).to.contain('there is no variant')
    expect((await create(clerk, { model: 'teller' }, given)).status).to.equal(404)
    expect((await vary(clerk)).status).to.equal(404)
  })

  it('has nothing that other agents have stored', async () => {
    const { tell, all, clerk } = await makeKeyed()
    const waiting = (await create(all, {})).json
    const approval = waiting.output[0].id
    const own = (await create(all, { model: 'teller', input: 'hi' })).json
    const conversation = (await all.ask('POST', '/v1/conversations', {})).json.id
    await create(all, { model: 'teller', input: 'hi', conversation })
    expect((await tell.ask('GET', `/v1/conversations/${conversation}/items`)).status).to.equal(200)
    await create(all, { input: 'pay', conversation })
    for (const path of ['', '/input_items', '?stream=true']) {
      await isHidden(waiting.id, (id) => tell.ask('GET', `/v1/responses/${id}${path}`))
    }
    await isHidden(waiting.id, (id) => tell.ask('DELETE', `/v1/responses/${id}`))
    await isHidden(waiting.id, (id) => tell.ask('POST', `/v1/responses/${id}/cancel`))
    await isHidden(waiting.id, (id) => create(tell, { model: 'teller', previous_response_id: id }))
    await isHidden(approval, (id) => tell.ask('GET', `/v1/approvals/${id}`))
    await isHidden(approval, (id) => tell.ask('POST', `/v1/approvals/${id}`, { decision: 'approve' }))
    await isHidden(conversation, (id) => tell.ask('GET', `/v1/conversations/${id}`))
    await isHidden(conversation, (id) => tell.ask('GET', `/v1/conversations/${id}/items`))
    await isHidden(conversation, (id) => create(tell, { model: 'teller', conversation: id }))
    const listed = async (visitor: Visitor, path: string): Promise<string[]> =>
      (await visitor.ask('GET', path)).json.data.map(({ id }: Json) => id)
    expect((await listed(all, '/v1/responses?limit=2')).length).to.equal(2)
    const visible = await listed(tell, '/v1/responses?limit=2')
    expect(visible).to.include(own.id)
    expect(visible.length).to.equal(2)
    expect(await listed(tell, '/v1/approvals')).to.deep.equal([])
    expect(await listed(tell, '/v1/approvals?status=all')).to.deep.equal([])
    expect(await listed(all, '/v1/approvals')).to.include(approval)
    expect(await listed(clerk, '/v1/responses')).to.deep.equal([])
    const found = async (visitor: Visitor, id: string) => (await visitor.ask('POST', '/plain', { id })).json.found
    expect([await found(tell, waiting.id), await found(tell, own.id), await found(all, waiting.id)]).to.deep.equal([
      null,
      own.id,
      waiting.id,
    ])
    const decided = await all.ask('POST', `/v1/approvals/${approval}`, { decision: 'approve' })
    expect(decided.json.status).to.equal('approved')
    const next = async () => (await all.ask('GET', `/v1/responses/${decided.json.continued_by}`)).json.status
    await eventually(async () => expect(await next()).to.equal('completed'))
    await isHidden(decided.json.continued_by, (id) => tell.ask('GET', `/v1/responses/${id}`))
  })

  it('ends no run of another agent: what it may not delete goes on', async () => {
    const { tell, all } = await makeKeyed()
    for (const background of [true, false]) {
      const created = create(all, { model: 'slow', background, stream: true })
      const find = async () =>
        (await all.ask('GET', '/v1/responses')).json.data.find(({ status }: Json) => status === 'in_progress')
      await eventually(async () => expect(await find()).to.include({ model: 'slow' }))
      const { id } = await find()
      await isHidden(id, (id) => tell.ask('DELETE', `/v1/responses/${id}`))
      await isHidden(id, (id) => tell.ask('POST', `/v1/responses/${id}/cancel`))
      expect((await all.ask('GET', `/v1/responses/${id}`)).json.status).to.equal('in_progress')
      expect((await all.ask('DELETE', `/v1/responses/${id}`)).status).to.equal(200)
      await created
    }
  })

  it('has the conversations in which no agent has spoken that it has made itself, and no others', async () => {
    const { tell, all, clerk } = await makeKeyed()
    const items = [{ role: 'user', content: 'of all' }]
    const make = async (visitor: Visitor, body: object = {}): Promise<string> =>
      (await visitor.ask('POST', '/v1/conversations', body)).json.id
    const [empty, filled, own] = [await make(all), await make(all, { items }), await make(tell, { items })]
    for (const [visitor, ids] of [
      [tell, [empty, filled]],
      [clerk, [empty, filled, own]],
    ] as const) {
      for (const id of ids) {
        await isHidden(id, (id) => visitor.ask('GET', `/v1/conversations/${id}`))
        await isHidden(id, (id) => visitor.ask('GET', `/v1/conversations/${id}/items`))
        await isHidden(id, (id) => visitor.ask('POST', `/v1/conversations/${id}`, { metadata: { seen: 'yes' } }))
        await isHidden(id, (id) => visitor.ask('POST', `/v1/conversations/${id}/items`, { items }))
        await isHidden(id, (id) => visitor.ask('DELETE', `/v1/conversations/${id}`))
      }
    }
    const count = async (visitor: Visitor, id: string): Promise<number> =>
      (await visitor.ask('GET', `/v1/conversations/${id}/items`)).json.data.length
    expect([await count(tell, own), await count(all, own), await count(all, filled)]).to.deep.equal([1, 1, 1])
    const updated = await tell.ask('POST', `/v1/conversations/${own}`, { metadata: { topic: 'mine' } })
    expect([updated.status, updated.json.metadata]).to.deep.equal([200, { topic: 'mine' }])
    const said = await create(tell, { model: 'teller', input: 'hi', conversation: own })
    expect([said.status, await count(tell, own)]).to.deep.equal([200, 3])
    // Its only response goes: it is again one in which no agent has spoken.
    await tell.ask('DELETE', `/v1/responses/${said.json.id}`)
    expect(await count(tell, own)).to.equal(1)
    await isHidden(own, (id) => clerk.ask('GET', `/v1/conversations/${id}`))
    await create(all, { model: 'teller', input: 'hi', conversation: filled })
    expect(await count(tell, filled)).to.equal(3)
  })

  it('sees no traces of others', async () => {
    const { tell, all } = await makeKeyed()
    await tell.openLive()
    await create(all, {})
    const { json } = await create(all, { model: 'teller', input: 'hi' })
    const runs = async (visitor: Visitor) =>
      (
        await act(
          visitor,
          '{ runs(first: 50) { total runs { agent_id run_id } } metrics(since: 0) { agents { agent_id } } }',
        )
      ).json.data
    await eventually(async () => expect((await runs(all)).runs.total).to.equal(2))
    const all2 = await runs(all)
    const shop = all2.runs.runs.find(({ agent_id }: Json) => agent_id === 'shop')
    const seen = await runs(tell)
    expect(seen.runs.total).to.equal(1)
    expect(seen.runs.runs[0].agent_id).to.equal('teller')
    expect(seen.metrics.agents.map(({ agent_id }: Json) => agent_id)).to.deep.equal(['teller'])
    expect((await act(tell, `{ run(run_id: "${shop.run_id}") { run_id } }`)).json.data.run).to.equal(null)
    expect((await tell.ask('GET', `/api/ui/runs/${shop.run_id}/tape`)).status).to.equal(404)
    const log = (agent: string) => `{ debug_log(agent_id: "${agent}", limit: 10) { events { agent_id } } }`
    expect((await act(tell, log('shop'))).json.data.debug_log.events).to.deep.equal([])
    expect((await act(tell, log('teller'))).json.data.debug_log.events).to.not.deep.equal([])
    expect((await act(tell, '{ evals(first: 1) { case_files } }')).json.data.evals.case_files).to.deep.equal([])
    await eventually(() => expect(tell.live).to.contain(json.id.slice('resp_'.length)))
    expect(tell.live).to.not.contain(shop.run_id)
    tell.close()
  })
})
