import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { expectLimitKept, withinOneMinute } from '../support/limit-walk.ts'
import { openSocket } from '../support/response-socket.ts'
import type { Json } from '../support/responses.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { SHOP_FILES } from '../support/shop.ts'
import { type Answer, keysFile, Visitor } from '../support/tenant-visitor.ts'

const RUN = ['run', 'approve']
const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter']
const TWICE = `export class TwiceAdapter {
  constructor(options) { this.options = options }
  adapt(app) {
    const { host, tenantOf } = this.options
    app.post('/twice', async (request) => {
      const run = () => host.run('echo', 'hi', { tenant: tenantOf(request) }).then(({ text }) => text, (error) => error.code)
      return Promise.all([run(), run(), run()])
    })
  } }`

describe('limits of a key', () => {
  afterEach(closeServers)

  async function makeLimited(
    keys: readonly { name: string; limits?: object; tenant?: string; agents?: string[] }[],
    more: { tenants?: object[]; files?: object; options?: object } = {},
  ) {
    const file = keysFile(
      keys.map((key) => ({ tenant: 'acme', scopes: RUN, ...key })),
      more.tenants,
    )
    const files = { 'keys.yml': file, 'twice.ts': TWICE, ...more.files }
    const adapters = [...ADAPTERS, './twice.ts#TwiceAdapter']
    const { listen, app } = await makeServer({ adapters, keys: 'keys.yml', ...more.options }, files)
    const url = await listen()
    const visitor = (name: string) => new Visitor(url, 'acme', name)
    return { url, app, visitor }
  }

  const say = (visitor: Visitor, content = 'hi', path = '/v1/chat/completions', model = 'echo') =>
    visitor.ask('POST', path, chat(model, content))
  const respond = (visitor: Visitor, body: object = {}) =>
    visitor.ask('POST', '/v1/responses', { model: 'echo', input: 'hi', ...body })
  const statuses = async (answers: Iterable<Promise<Answer>>) =>
    (await Promise.all(answers)).map(({ status }) => status)
  const rpc = (visitor: Visitor) =>
    visitor.ask('POST', '/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: { message: 'hi' } },
    })

  it('counts requests over all doors, and refuses in the words of each', async () => {
    await withinOneMinute()
    const { visitor, url } = await makeLimited([
      { name: 'ada', limits: { requests_per_minute: 6 } },
      { name: 'bob' },
      { name: 'eve', limits: { requests_per_minute: 1 } },
    ])
    const ada = visitor('ada')
    const { socket, ask } = await openSocket(url, ada.headers)
    const first = await respond(ada)
    expect((await say(ada)).status).to.equal(200)
    expect((await rpc(ada)).json.result.content[0].text).to.equal('hi')
    expect((await ask({ model: 'echo', input: 'hi' })).at(-1).type).to.equal('response.completed')
    expect((await respond(ada, { background: true })).status).to.equal(200)
    // What is refused for another reason, and what starts no run, does not count.
    expect((await respond(ada, { model: 'no-such' })).status).to.equal(404)
    expect((await ada.ask('GET', `/v1/responses/${first.json.id}`)).status).to.equal(200)
    expect((await ask({ model: 'echo', input: 'hi' })).at(-1).type).to.equal('response.completed')

    const refused = await say(ada)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).to.be.within(1, 60)
    expect(refused.headers.get('ratelimit')).to.equal(`"requests_per_minute";r=0;t=${seconds}`)
    expect(refused.headers.get('x-should-retry')).to.equal(null)
    const message = `The limit of 6 requests per minute is reached. Try again in ${seconds} s.`
    expect([refused.status, refused.json.error]).to.deep.equal([
      429,
      { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
    ])
    const compat = await say(ada, 'hi', '/compat/chat/completions')
    expect([compat.status, Object.keys(compat.json)]).to.deep.equal([429, ['detail']])
    expect((await respond(ada)).status).to.equal(429)
    expect((await respond(ada, { stream: true })).status).to.equal(429)
    expect((await respond(ada, { background: true })).status).to.equal(429)
    const event = (await ask({ model: 'echo', input: 'hi' })).at(-1)
    expect([event.status, event.error.code]).to.deep.equal([429, 'rate_limit_exceeded'])
    const mcp = await rpc(ada)
    expect([mcp.status, mcp.json.error.code]).to.deep.equal([200, -32003])
    expect((await ada.ask('GET', '/v1/models')).status).to.equal(200)
    expect((await ada.ask('GET', `/v1/responses/${first.json.id}`)).status).to.equal(200)
    expect(await statuses([say(visitor('bob')), say(visitor('eve'))])).to.deep.equal([200, 200])
    expect((await say(visitor('eve'))).status).to.equal(429)
    socket.close()
  }).timeout(40_000)

  // On every store: test/prove/limits.prove.ts.
  for (const servers of [1, 3]) {
    it(`admits 98 to 100 of many at once, with ${servers === 1 ? 'one server' : 'three servers of one store'}`, () =>
      expectLimitKept(servers)).timeout(60_000)
  }

  it('holds runs at once, and gives their places back', async () => {
    const { visitor } = await makeLimited([{ name: 'ada', limits: { concurrent_runs: 2 } }])
    const ada = visitor('ada')
    const wait = () => say(ada, 'wait 700', '/v1/chat/completions', 'probe')
    const seen = await statuses([wait(), wait(), wait(), wait()])
    expect(seen.sort()).to.deep.equal([200, 200, 429, 429])
    const refused = await Promise.all([wait(), wait(), wait()])
    const limited = refused.find(({ status }) => status === 429)
    expect([limited?.headers.get('retry-after'), limited?.headers.get('ratelimit')]).to.deep.equal([
      '1',
      '"concurrent_runs";r=0;t=1',
    ])
    // A run that fails, one that is refused, and one in the background give theirs back, too.
    expect((await say(ada, 'fail', '/v1/chat/completions', 'probe')).status).to.equal(500)
    expect((await respond(ada, { model: 'no-such' })).status).to.equal(404)
    const { json } = await respond(ada, { model: 'probe', input: 'wait 600', background: true })
    const both = await statuses([wait(), wait()])
    expect(both.sort()).to.deep.equal([200, 429])
    await eventually(async () =>
      expect((await ada.ask('GET', `/v1/responses/${json.id}`)).json.status).to.equal('completed'),
    )
    await eventually(async () => expect((await statuses([say(ada), say(ada)])).sort()).to.deep.equal([200, 200]))
  }).timeout(40_000)

  it('is that of a tenant, too: all of its keys share it', async () => {
    await withinOneMinute()
    const { visitor } = await makeLimited(
      [{ name: 'ada', limits: { requests_per_minute: 10 } }, { name: 'bob' }, { name: 'eve', tenant: 'other' }],
      { tenants: [{ name: 'acme', limits: { requests_per_minute: 4 } }] },
    )
    const [ada, bob] = [visitor('ada'), visitor('bob')]
    const seen = await statuses([say(ada), say(ada), say(bob), say(bob), say(ada), say(bob)])
    expect(seen.filter((status) => status === 200).length).to.equal(4)
    expect((await say(visitor('eve'))).status).to.equal(200)
  }).timeout(40_000)

  it('counts a run that goes on after a decision for the key that began it, at every door', async () => {
    await withinOneMinute()
    const { visitor } = await makeLimited(
      [
        { name: 'ada', limits: { requests_per_minute: 5 } },
        { name: 'bob', limits: { requests_per_minute: 1 } },
      ],
      { files: SHOP_FILES },
    )
    const [ada, bob] = [visitor('ada'), visitor('bob')]
    const approve = async (): Promise<Answer> => {
      const [{ id }] = (await bob.ask('GET', '/v1/approvals')).json.data
      return bob.ask('POST', `/v1/approvals/${id}`, { decision: 'approve' })
    }
    // Each of them is two requests of hers, and none of his.
    for (const begin of [
      () => respond(ada, { model: 'shop' }),
      () => say(ada, 'pay', '/v1/chat/completions', 'shop'),
    ]) {
      expect((await begin()).status).to.equal(200)
      expect((await approve()).status).to.equal(200)
    }
    expect((await respond(ada, { model: 'shop' })).status).to.equal(200)
    const refused = await approve()
    expect([refused.status, refused.json.error.message]).to.match(/429,The limit of 5 requests per minute/)
    expect(await statuses([say(bob)])).to.deep.equal([200])
    expect((await say(bob)).status).to.equal(429)
  }).timeout(40_000)

  it('counts each of several runs of one request', async () => {
    await withinOneMinute()
    const { visitor } = await makeLimited([{ name: 'ada', limits: { requests_per_minute: 4 } }])
    const twice = async (): Promise<Json> => (await visitor('ada').ask('POST', '/twice')).json
    expect(await twice()).to.deep.equal(['hi', 'hi', 'hi'])
    expect([...(await twice())].sort()).to.deep.equal(['LIMIT_REACHED', 'LIMIT_REACHED', 'hi'])
  }).timeout(40_000)

  it('of tokens refuses the next call of a model, in the run that has passed it and in later ones, with the day', async () => {
    const files = {
      'agents/caller.yml': `id: caller
modules:
  - { id: team, module: tools/agents, config: { agents: [model] } }
  - { id: llm, module: llm/mock, config: { replies: [{ tool_calls: [{ name: model, arguments: { message: hi } }], usage: { input_tokens: 1, output_tokens: 1 } }, { text: done, usage: { input_tokens: 1, output_tokens: 1 } }] } }
  - { id: loop, module: orchestrator/tool-loop }`,
    }
    const { visitor } = await makeLimited(
      [
        { name: 'ada', limits: { tokens_per_day: 9 } },
        { name: 'bob', limits: { tokens_per_day: 6 } },
        { name: 'eve', limits: { tokens_per_day: 9 } },
      ],
      { files },
    )
    const [ada, bob, eve] = [visitor('ada'), visitor('bob'), visitor('eve')]
    const model = (who: Visitor) => say(who, 'hi', '/v1/chat/completions', 'model')
    expect(await statuses([model(ada)])).to.deep.equal([200])
    // 5 of 9: it may pass the limit, and the next may not begin.
    expect((await model(ada)).status).to.equal(200)
    const refused = await model(ada)
    expect([refused.status, refused.headers.get('x-should-retry')]).to.deep.equal([429, 'false'])
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 86_400)
    // 2 of its own and 5 of its child: the second call of its own model is refused.
    const half = await say(bob, 'hi', '/v1/chat/completions', 'caller')
    expect([half.status, half.json.error.code]).to.deep.equal([429, 'rate_limit_exceeded'])
    // A run in the background counts for the key that had it accepted, on whichever server.
    const { json } = await respond(eve, { model: 'model', background: true })
    await eventually(async () =>
      expect((await eve.ask('GET', `/v1/responses/${json.id}`)).json.status).to.equal('completed'),
    )
    expect((await model(eve)).status).to.equal(200)
    expect((await model(eve)).status).to.equal(429)
  }).timeout(40_000)

  it('of cost counts by the prices of the page; a model without one is an error of the file, and of a run', async () => {
    const usage = '{ input_tokens: 1000000, output_tokens: 1000000, model: paid }'
    const files = {
      'agents/model.yml': `id: model
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: hi, usage: ${usage} }] } }
  - { id: loop, module: orchestrator/tool-loop }`,
      'agents/free.yml': `id: free
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: hi, usage: ${usage.replace('paid', 'unknown')} }] } }
  - { id: loop, module: orchestrator/tool-loop }`,
      'prices.yml': 'paid: { input: 1, output: 2 }',
    }
    const { visitor } = await makeLimited([{ name: 'ada', limits: { cost_per_day: 4 } }], { files })
    const model = (name: string) => say(visitor('ada'), 'hi', '/v1/chat/completions', name)
    expect((await model('model')).status).to.equal(200)
    expect((await model('free')).status).to.equal(500)
    expect((await model('model')).status).to.equal(200)
    const refused = await model('model')
    expect([refused.status, refused.headers.get('ratelimit')?.split(';')[0]]).to.deep.equal([429, '"cost_per_day"'])
    const gpt = {
      'agents/model.yml': `id: model
modules:
  - { id: llm, module: llm/openai, config: { model: no-such-model, api_key: k } }
  - { id: loop, module: orchestrator/tool-loop }`,
    }
    const limited = { name: 'ada', limits: { cost_per_day: 4 } }
    const error = await makeLimited([limited], { files: gpt }).catch((thrown) => thrown)
    expect([error.code, error.message, ...error.suggestions]).to.deep.equal([
      'OPTION_INVALID',
      "The key 'ada' has a limit of cost_per_day, and the model 'no-such-model' of agent 'model' has no price.",
      'Add it to prices.yml, in US dollars per million tokens: no-such-model: { input: 2, output: 8 }',
    ])
    const other = await makeLimited([{ ...limited, agents: ['echo'] }], { files: gpt })
    expect((await say(other.visitor('ada'))).status).to.equal(200)
  }).timeout(40_000)
})
