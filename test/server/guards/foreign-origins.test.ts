import { readFile } from 'node:fs/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { openSocket } from '../../support/response-socket.ts'
import { type Json, RESPONSES_PROJECT } from '../../support/responses.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'

type Headers = Readonly<Record<string, string>>

const FILES = {
  ...RESPONSES_PROJECT,
  ...SHOP_MODULES,
  'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 4711 } }'),
  'agents/clerk.yml': shopAgent('clerk', '{ name: size, arguments: { amount: 0 } }'),
}
const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter', 'UiApiAdapter']

/** Pages that are not the server's own. A request without `Origin` is one of a program. */
const FOREIGN: readonly Headers[] = [
  { origin: 'https://evil.test' },
  { origin: 'null' },
  { origin: 'http://localhost:3000' },
  { origin: 'http://evil.test:80', host: 'evil.test:80' },
  { 'sec-fetch-site': 'same-site' },
]
const OWN: readonly Headers[] = [
  {},
  { origin: 'http://localhost:80' },
  { origin: 'http://10.0.0.1:80', host: '10.0.0.1:80' },
  { origin: 'http://[fd00::1]:80', host: '[fd00::1]:80' },
  { origin: 'https://agents.example', host: 'agents.example' },
  { origin: 'https://app.example' },
]

describe('pages of other origins', () => {
  afterEach(closeServers)

  async function makeShop(options: Partial<ServerOptions> = {}) {
    const { app, project, listen } = await makeServer({ adapters: ADAPTERS, debug: true, ...options }, FILES)
    const request = async (url: string, payload?: object, headers: Headers = {}) => {
      const reply = await app.inject({ method: payload ? 'POST' : 'GET', url, headers, payload })
      return { status: reply.statusCode, text: reply.body, body: JSON.parse(reply.body || 'null') as Json }
    }
    const wait = async (model = 'shop') => {
      const { id, output } = (await request('/compat/responses', { model, input: 'please' })).body
      const { data } = (await request('/compat/approvals')).body
      return { id, output, approval: data[0].id as string }
    }
    const inbox = async () =>
      (await request('/compat/approvals?status=all')).body.data.map(({ status }: Json) => status)
    const paid = () => readFile(project.path('paid.txt'), 'utf8').catch(() => '')
    return { request, wait, inbox, paid, listen }
  }

  /** Statuses of every way to decide over HTTP. */
  async function decideBy(headers: Headers, { request, wait }: Awaited<ReturnType<typeof makeShop>>) {
    const { id, approval } = await wait()
    const question = await wait('clerk')
    const answer = { type: 'mcp_approval_response', approval_request_id: approval, approve: true }
    const create = (more: object) => request('/compat/responses', { model: 'shop', input: [answer], ...more }, headers)
    const asTool = [
      { role: 'user', content: 'please' },
      { role: 'assistant', tool_calls: [{ id: approval, type: 'function', function: { name: 'a', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: approval, content: '{"decision": "approve"}' },
    ]
    const complete = (more: object) =>
      request('/v1/chat/completions', { model: 'shop', messages: asTool, ...more }, headers)
    return [
      await request(`/compat/approvals/${question.approval}`, { decision: 'answer', answer: 3 }, headers),
      await request(`/v1/approvals/${approval}`, { decision: 'reject' }, headers),
      await create({ previous_response_id: id }),
      await create({ previous_response_id: id, background: true }),
      await create({}),
      await create({ previous_response_id: id, input: 'Never mind.' }),
      await complete({}),
      await complete({ stream: true }),
    ]
  }

  it('decide nothing, and spend nothing', async () => {
    const shop = await makeShop({ host: '0.0.0.0' })
    for (const headers of FOREIGN) {
      const replies = await decideBy(headers, shop)
      expect(
        replies.map(({ status }) => status),
        JSON.stringify(headers),
      ).to.deep.equal(Array(8).fill(403))
    }
    const waiting = Array(2 * FOREIGN.length).fill('pending')
    expect([await shop.inbox(), await shop.paid()]).to.deep.equal([waiting, ''])
  })

  it('get the reason, and what would allow it, in the dialect of the route', async () => {
    const { request, wait } = await makeShop({ host: '0.0.0.0' })
    const { approval } = await wait()
    const decide = async (prefix: string, headers: Headers) =>
      (await request(`${prefix}/approvals/${approval}`, { decision: 'approve' }, headers)).body
    const why = "Pages of 'https://evil.test' may not decide; --trusted-origin https://evil.test allows it"
    expect(await decide('/compat', { origin: 'https://evil.test' })).to.deep.equal({ detail: why })
    const { error } = await decide('/v1', { origin: 'http://my.test:80', host: 'my.test:80' })
    expect(error).to.deep.include({
      message: "Pages of 'http://my.test:80' may not decide; --allowed-host my.test allows it",
      type: 'permission_error',
    })
    const mcp = await request('/mcp', { jsonrpc: '2.0', id: 'x', result: {} }, { origin: 'null' })
    expect([mcp.status, mcp.body]).to.deep.equal([
      403,
      { jsonrpc: '2.0', id: null, error: { code: -32001, message: "Pages of 'null' may not decide" } },
    ])
  })

  it('are all but the own: of this machine, an IP address, a listed host, and a trusted origin', async () => {
    const { request, wait } = await makeShop({
      host: '0.0.0.0',
      allowedHosts: ['agents.example', '10.0.0.1', '[fd00::1]'],
      trustedOrigins: ['https://app.example'],
    })
    for (const headers of OWN) {
      const { approval } = await wait()
      const { data } = (await request('/compat/approvals', undefined, headers)).body
      expect(data[0].id, JSON.stringify(headers)).to.equal(approval)
      const decided = await request(`/compat/approvals/${approval}`, { decision: 'approve' }, headers)
      expect(decided.body.status, JSON.stringify(headers)).to.equal('approved')
    }
  })

  it('are own under the public address, also behind a proxy that changes the host; rebound names are not', async () => {
    const { request, wait } = await makeShop({ publicUrl: 'https://Agents.example:8443/base' })
    const decideBy = async (headers: Headers) => {
      const { approval } = await wait()
      const seen = (await request('/compat/approvals', undefined, headers)).body.data?.[0].id
      const { status } = await request(`/compat/approvals/${approval}`, { decision: 'approve' }, headers)
      return [seen === approval, status]
    }
    const origin = 'https://agents.example:8443'
    const own: Headers[] = [{ origin, host: 'agents.example:8443' }, { origin }, { origin, host: 'AGENTS.example' }]
    for (const headers of own) {
      expect(await decideBy(headers), JSON.stringify(headers)).to.deep.equal([true, 200])
    }
    const foreign: Headers[] = [
      { origin: 'https://evil.example:8443', host: 'agents.example:8443' },
      { origin: 'https://agents.example', host: 'agents.example:8443' },
      { origin: 'https://agents.example:8443.evil.test' },
      { origin: 'https://agents.example', 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of foreign) {
      expect(await decideBy(headers), JSON.stringify(headers)).to.deep.equal([false, 403])
    }
    for (const host of ['evil.test', 'agents.example.evil.test', 'evil.agents.example', 'evil.test:8443']) {
      expect((await request('/compat/approvals', undefined, { host })).status, host).to.equal(403)
      const rebound = { host, origin: `https://${host}` }
      expect((await request('/compat/approvals', undefined, rebound)).status, host).to.equal(403)
    }
  })

  it('decide with a key that has the scope', async () => {
    const shop = await makeShop({ responsesApiKey: 'ann:run+approve:key-of-ann,ci:run:key-of-ci', trustedOrigins: [] })
    const as = (key: string, origin?: string) => ({ authorization: `Bearer ${key}`, ...(origin ? { origin } : {}) })
    const { output } = (await shop.request('/compat/responses', { model: 'shop', input: 'x' }, as('key-of-ann'))).body
    const [{ id }] = output.filter(({ type }: Json) => type === 'mcp_approval_request')
    const decide = (key: string) =>
      shop.request(`/compat/approvals/${id}`, { decision: 'approve' }, as(key, 'https://evil.test'))
    expect((await decide('key-of-ci')).body.detail).to.equal("The key 'ci' lacks the scope 'approve'")
    expect((await decide('key-of-ann')).body).to.deep.include({ status: 'approved', decided_by: 'ann' })
  })

  it('may answer calls of their own tools, and run agents', async () => {
    const { request } = await makeShop()
    const headers = { origin: 'https://evil.test' }
    const tools = [{ type: 'function', name: 'weather', parameters: {} }]
    const asked = (await request('/compat/responses', { model: 'model', input: 'weather', tools }, headers)).body
    expect([asked.status, asked.object]).to.deep.equal(['completed', 'response'])
    const completed = await request('/compat/chat/completions', chat('echo', 'hi'), headers)
    expect(completed.body.choices[0].message.content).to.equal('hi')
  })

  it('decide nothing over a WebSocket, even where --cors-origin lets them connect', async () => {
    const { listen, wait, inbox } = await makeShop({ corsOrigins: ['https://evil.test'] })
    const { id, approval } = await wait()
    const input = [{ type: 'mcp_approval_response', approval_request_id: approval, approve: true }]
    const { ask, socket } = await openSocket(await listen(), { origin: 'https://evil.test' })
    const [event] = (await ask({ model: 'shop', input, previous_response_id: id })) as Json[]
    expect([event.status, event.error.type]).to.deep.equal([403, 'permission_error'])
    const [first] = ((await ask({ model: 'shop', input: 'mine', store: false })) as Json[]).slice(-1)
    const mine = first.response.output.find(({ type }: Json) => type === 'mcp_approval_request')
    const own = [{ type: 'mcp_approval_response', approval_request_id: mine.id, approve: true }]
    const [refused] = (await ask({
      model: 'shop',
      input: own,
      previous_response_id: first.response.id,
      store: false,
    })) as Json[]
    expect(refused.status).to.equal(403)
    socket.close()
    expect(await inbox()).to.deep.equal(['pending'])
  })

  for (const mode of ['auto', undefined] as const) {
    it(`answer no question of MCP ${mode === 'auto' ? '2026-07-28' : '2025-11-25'}`, async () => {
      const { listen, paid } = await makeShop()
      const statuses: number[] = []
      /** Sends each answer of the user from another origin first. */
      const send: typeof fetch = async (url, init) => {
        if (/"inputResponses"|"result"/.test(String(init?.body))) {
          const headers = new Headers(init?.headers)
          headers.set('origin', 'https://evil.test')
          statuses.push((await fetch(url, { ...init, headers })).status)
          expect(await paid()).to.equal('')
        }
        return fetch(url, init)
      }
      const options = { capabilities: { elicitation: { form: {} } }, ...(mode ? { versionNegotiation: { mode } } : {}) }
      const client = new Client({ name: 'test', version: '1.0.0' }, options)
      client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }) as never)
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', await listen()), { fetch: send }))
      await client.callTool({ name: 'shop', arguments: { message: 'pay' } })
      await client.close()
      expect([statuses, await paid()]).to.deep.equal([[403], 'pay 4711\n'])
    })
  }

  it('are not even asked over MCP: they get the error of a client that cannot ask', async () => {
    const { request } = await makeShop()
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'x', version: '1' },
    }
    const headers = {
      origin: 'https://evil.test',
      'mcp-session-id': 'ask-1',
      accept: 'application/json, text/event-stream',
    }
    expect((await request('/mcp', { jsonrpc: '2.0', id: 1, method: 'initialize', params }, headers)).status).to.equal(
      200,
    )
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'shop', arguments: { message: 'pay' } },
    }
    expect(JSON.stringify((await request('/mcp', call, headers)).body)).to.contain('needs a person to decide about pay')
  })

  it('see names, agents and counts of the debug data, and no content', async () => {
    const { request } = await makeShop({ host: '0.0.0.0' })
    await request('/compat/responses', { model: 'shop', input: 'private words' })
    const query = `{
      list_agents { id definition latest_run { run_id } modules { id config tools { name } } loads { problems { message } } }
      debug_log(agent_id: "shop") { agent_id events { agent_id event_name run_id arguments result exception label } }
      runs { total cursor runs { run_id agent_id status continues continued_by input output error neighbours { previous next } } }
      found: runs(filter: { text: "private" }) { total }
      server { shows_content tracing { problem } } }`
    await eventually(async () => {
      const { data } = (await request('/api/ui/graphql', { query })).body
      expect(JSON.stringify(data)).to.contain('private words').and.to.contain('4711')
      expect([data.runs.total, data.found.total, data.server.shows_content]).to.deep.equal([1, 1, true])
    })
    for (const headers of [...FOREIGN, { host: 'evil.test:80' }]) {
      const { status, body } = await request('/api/ui/graphql', { query }, headers)
      const { data } = body
      expect([status, body.errors], JSON.stringify(headers)).to.deep.equal([200, undefined])
      const { run_id, agent_id, status: state, ...rest } = data.runs.runs[0]
      expect([run_id, agent_id, state]).to.deep.equal([null, 'shop', 'waiting'])
      expect(Object.values(rest)).to.deep.equal([null, null, null, null, null, { previous: null, next: null }])
      expect([data.runs.total, data.runs.cursor, data.found.total, data.server.shows_content]).to.deep.equal([
        1,
        null,
        0,
        false,
      ])
      for (const event of data.debug_log.events) {
        const { agent_id: agent, event_name: name, ...content } = event
        expect([agent, typeof name, ...Object.values(content)]).to.deep.equal([
          'shop',
          'string',
          null,
          null,
          null,
          null,
          null,
        ])
      }
      for (const { definition, modules } of data.list_agents) {
        expect([definition, ...modules.flatMap(({ config, tools }: Json) => [config, tools])]).to.deep.equal(
          Array(1 + 2 * modules.length).fill(null),
        )
      }
      expect(JSON.stringify(data)).to.not.contain('private').and.not.contain('4711')
    }
  })

  it('see that something waits in the inbox', async () => {
    const { request, wait } = await makeShop()
    const { approval } = await wait()
    const headers = { origin: 'https://evil.test' }
    const listed = await request('/compat/approvals', undefined, headers)
    const { created_at: _at, expires_at: _until, ...shown } = listed.body.data[0]
    expect(shown).to.deep.equal({
      id: null,
      object: 'approval',
      kind: 'approval',
      response_id: null,
      agent: 'shop',
      asked_by: [],
      run_id: null,
      name: 'pay',
      arguments: null,
      message: null,
      url: null,
      schema: null,
      status: 'pending',
      decided_by: null,
      decided_at: null,
      reason: null,
      edited_arguments: null,
      continued_by: null,
    })
    expect([listed.body.first_id, listed.body.last_id]).to.deep.equal([null, null])
    expect((await request(`/compat/approvals/${approval}`, undefined, headers)).body).to.deep.include({
      id: null,
      name: 'pay',
    })
  })

  it('get no ids and texts from the live stream', async () => {
    const { request, listen } = await makeShop()
    const url = `${await listen()}/api/ui/live`
    const leaving = new AbortController()
    const follow = async (headers: Headers) => {
      const { body } = await fetch(url, { headers, signal: leaving.signal })
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
      const seen: string[] = []
      void (async () => {
        for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) seen.push(part.value)
      })().catch(() => {})
      return () => seen.join('')
    }
    const [own, foreign] = [await follow({}), await follow({ origin: 'https://evil.test' })]
    await request('/compat/responses', { model: 'shop', input: 'private words' })
    await eventually(() => expect(own()).to.contain('private words'))
    await eventually(() => expect(foreign()).to.contain('"agent_id":"shop"'))
    leaving.abort()
    expect(foreign()).to.contain('"run_id":null').and.not.contain('private words')
    const runId = /"run_id":"([^"]+)"/.exec(own())?.[1] as string
    expect(foreign()).to.not.contain(runId)
  })
})
