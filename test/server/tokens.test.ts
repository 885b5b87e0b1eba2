import { createHash } from 'node:crypto'
import {
  Client,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import type { Message, ServerOptions } from 'agent-host'
import { expect } from 'chai'
import { exportSPKI, SignJWT } from 'jose'
import { digestOf } from '../../src/server/guards/key.ts'
import { Tokens } from '../../src/server/guards/tokens.ts'
import { callCli } from '../support/call-cli.ts'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { eventually } from '../support/eventually.ts'
import { Issuer } from '../support/issuer.ts'
import { openSocket } from '../support/response-socket.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../support/shop.ts'
import { hasRedis, startRedis } from '../support/store-servers.ts'
import { TENANT_PROJECT } from '../support/tenant-walk.ts'

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const MCP_CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'probe', arguments: { message: 'facts' } },
}

/** What each request of MCP 2026-07-28 tells of its client. */
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Says what it is told, and waits with "late" until it is let go. */
const LATE = `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Late', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text) {
    if (text === 'late') await new Promise((resolve) => { globalThis.endLate = resolve })
    await response.respondText(text)
  } }) })`

describe('tokens of an issuer', () => {
  let issuer: Issuer

  beforeEach(async () => {
    issuer = await Issuer.start()
  })

  afterEach(async () => {
    await closeServers()
    await issuer.close()
  })

  async function open(options: Partial<ServerOptions> = {}, files = {}) {
    const own = {
      jwtIssuer: issuer.url,
      jwtAudience: 'agents',
      adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter'],
    }
    const server = await makeServer({ ...own, ...options }, files)
    const ask = async (
      token: string | undefined,
      payload: object = chat('probe', 'facts', { user: 'eve' }),
      url = '/v1/chat/completions',
    ) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const reply = await server.app.inject({ method: 'POST', url, payload, headers })
      return { status: reply.statusCode, json: reply.json(), headers: reply.headers }
    }
    const status = async (token: string) => (await ask(token)).status
    return { ...server, ask, status }
  }

  for (const alg of ['RS256', 'ES256', 'EdDSA']) {
    it(`let in whom they name (${alg}): the user of a request is that of its token`, async () => {
      const { ask } = await open()
      const { status, json } = await ask(await issuer.sign({}, { alg }))
      expect(status).to.equal(200)
      expect(JSON.parse(json.choices[0].message.content)[0]).to.equal('ada')
    })
  }

  it('keep the calls of a chat apart by their users, also where all ask the same', async () => {
    const { ask, project } = await open({ debug: true }, CLIENT_TOOLS_PROJECT)
    const tools = [{ type: 'function', function: { name: 'weather' } }]
    const question = chat('tools', 'weather Lima', { tools })
    const { json } = await ask(await issuer.sign({ sub: 'ada' }), question)
    await ask(await issuer.sign({ sub: 'bob' }), question)
    const output = { role: 'tool', tool_call_id: 'call_1_0', content: 'rain' }
    const messages = [{ role: 'user', content: 'weather Lima' }, json.choices[0].message, output]
    await ask(await issuer.sign({ sub: 'ada' }), { model: 'tools', tools, messages })
    await closeServers()
    const [last, , first] = JSON.parse((await callCli(['runs', '--json'], { cwd: project.dir })).stdout).runs
    expect(last.continues).to.equal(first.run_id)
  })

  it('are refused where they do not hold', async () => {
    const { ask, status } = await open({ jwtClaims: ['tenant=org'] })
    const now = Math.floor(Date.now() / 1000)
    const whole = await issuer.sign()
    const [, payload = '', signature = ''] = whole.split('.')
    const secret = new TextEncoder().encode(await exportSPKI(issuer.publicKey('RS256')))
    const claims = { iss: issuer.url, aud: 'agents', sub: 'ada', exp: now + 300, org: 'acme' }
    const wrong = {
      'no signature': `${base64({ alg: 'none' })}.${base64(claims)}.`,
      'alg none with a signature': `${base64({ alg: 'none' })}.${base64(claims)}.${signature}`,
      'HS256 with the public key': await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'RS256' })
        .sign(secret),
      'another audience': await issuer.sign({ aud: 'others' }),
      'another issuer': await issuer.sign({ iss: 'https://other.example' }),
      'a time that is over': await issuer.sign({ exp: now - 10 }),
      'a time to come': await issuer.sign({ nbf: now + 100 }),
      'no end': await issuer.sign({ exp: undefined }),
      'no subject': await issuer.sign({ sub: undefined }),
      'an unknown key': await issuer.sign({}, { kid: 'unknown' }),
      'no tenant': await issuer.sign({ org: undefined }),
      'an empty tenant': await issuer.sign({ org: '' }),
      'a tenant that is no name': await issuer.sign({ org: 'a/b' }),
      'a tenant that is no text': await issuer.sign({ org: ['acme'] }),
      'another payload': [base64({ alg: 'RS256', kid: 'RS256' }), base64({ ...claims, sub: 'eve' }), signature].join(
        '.',
      ),
      'no token': 'a.b.c',
      'too much': `${'a'.repeat(9000)}.${payload}.${signature}`,
    }
    const found = Object.fromEntries(
      await Promise.all(Object.entries(wrong).map(async ([what, token]) => [what, await status(token)])),
    )
    expect(found).to.deep.equal(Object.fromEntries(Object.keys(wrong).map((what) => [what, 401])))
    expect((await ask(undefined)).status).to.equal(401)
    expect(await status(whole)).to.equal(200)
  })

  it('cost little where they do not hold', async () => {
    const { status } = await open()
    await status(await issuer.sign())
    const unknown = await issuer.sign({}, { kid: 'unknown' })
    const before = process.cpuUsage()
    for (let n = 0; n < 100; n++) expect(await status(unknown)).to.equal(401)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000 / 100).to.be.lessThan(5)
    // An unknown key is asked for every 30 s at most.
    expect(issuer.asked).to.equal(1)
  })

  it('stand behind static keys, also one that looks like a token', async () => {
    const digest = createHash('sha256').update('a.b.c').digest('hex')
    const keys = `keys: [{ name: ci, digest: "sha256:${digest}", scopes: [run] }]`
    const { ask, status } = await open({ keys: 'keys.yml', compatApiKey: 'd.e.f' }, { 'keys.yml': keys })
    const { status: answered, json } = await ask('a.b.c')
    expect([answered, JSON.parse(json.choices[0].message.content)[0]]).to.deep.equal([200, 'eve'])
    expect([await status('d.e.f'), await status(await issuer.sign()), issuer.asked]).to.deep.equal([200, 200, 1])
    expect((await ask('x.y.z')).json.detail).to.equal('Invalid API key')
  })

  it('give rights by a claim, and only `run` without', async () => {
    const { ask } = await open({ jwtClaims: ['tenant=org', 'user=email', 'scopes=scope'] })
    const token = (scope: unknown, more = {}) => issuer.sign({ scope, email: 'ada@acme.example', ...more })
    const forget = async (scope: unknown) => (await ask(await token(scope), { user: 'bob' }, '/forget')).status
    expect([await forget('openid run'), await forget('run forget'), await forget(['forget'])]).to.deep.equal([
      403, 200, 200,
    ])
    expect((await ask(await token('approve'))).status).to.equal(403)
    expect((await ask(await token(undefined))).status).to.equal(401)
    const { json } = await ask(await token('run'))
    expect(JSON.parse(json.choices[0].message.content)[0]).to.equal('ada@acme.example')
  })

  it('keep tenants apart, and decide under their own name', async () => {
    const options = { jwtClaims: ['tenant=org', 'scopes=scope'] }
    const { ask, app } = await open(options, {
      'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
      ...SHOP_MODULES,
    })
    const ada = await issuer.sign({ scope: 'run approve' })
    const eve = await issuer.sign({ scope: 'run approve', org: 'other', sub: 'eve' })
    const { json } = await ask(ada, { model: 'shop', input: 'pay', user: 'eve' }, '/v1/responses')
    expect(json.user).to.equal('ada')
    const get = async (token: string) =>
      (await app.inject({ url: `/v1/responses/${json.id}`, headers: { authorization: `Bearer ${token}` } })).statusCode
    expect([await get(ada), await get(eve)]).to.deep.equal([200, 404])
    const decision = await ask(ada, { decision: 'approve' }, `/v1/approvals/${json.output[0].id}`)
    expect([decision.status, decision.json.decided_by]).to.deep.equal([200, 'jwt:ada'])
  })

  it('read what is remembered of their own user alone', async () => {
    const teller = TENANT_PROJECT['agents/teller.yml'].replace(
      'vector-memory }',
      'vector-memory, config: { per_user: true } }',
    )
    const { ask } = await open({}, { ...TENANT_PROJECT, 'agents/teller.yml': teller })
    const [ada, eve] = [await issuer.sign(), await issuer.sign({ sub: 'eve' })]
    for (const token of [ada, eve]) await ask(token, chat('teller', 'hi'))
    const rpc = async (method: string, params: object = {}) =>
      (await ask(ada, { jsonrpc: '2.0', id: 1, method, params }, '/mcp')).json
    const { resources } = (await rpc('resources/list')).result
    const uris: string[] = resources.map(({ uri }: { uri: string }) => uri)
    const memory = 'agent-host://teller/memory/memory'
    expect(uris.filter((uri) => uri.startsWith(memory))).to.deep.equal([`${memory}?user=ada`])
    expect(JSON.parse((await rpc('resources/read', { uri: memory })).result.contents[0].text).length).to.equal(1)
    for (const uri of [`${memory}?user=eve`, 'agent-host://teller/conversations/kept/any?user=eve']) {
      expect((await rpc('resources/read', { uri })).error.message).to.equal(`Resource not found: ${uri}`)
    }
  })

  for (const place of ['in memory', 'in a store']) {
    it(`list, read and continue MCP conversations of their own user alone, ${place}`, async function () {
      if (place === 'in a store' && !hasRedis()) this.skip()
      const redis = place === 'in a store' ? await startRedis() : undefined
      try {
        const options = { mcpApiKey: 'mcp-key-1234', jwtClaims: ['scopes=scope'], ...(redis && { store: redis.url }) }
        const { ask } = await open(options, {
          'agents/talk.yml':
            'id: talk\nconversation: true\nexpose: [conversations]\nmodules: [{ id: main, module: late }]',
          'modules/late.ts': LATE,
        })
        const senders = {
          ada: await issuer.sign({ scope: 'run forget' }),
          eve: await issuer.sign({ scope: 'run', sub: 'eve' }),
          key: 'mcp-key-1234',
        }
        type Sender = keyof typeof senders
        const rpc = async (sender: Sender, method: string, params: object = {}) =>
          (await ask(senders[sender], { jsonrpc: '2.0', id: 1, method, params }, '/mcp')).json
        const say = (sender: Sender, message: string, conversation_id?: string) =>
          rpc(sender, 'tools/call', { name: 'talk', arguments: { message, conversation_id } })
        const begin = async (sender: Sender, message: string): Promise<string> =>
          (await say(sender, message)).result.content.at(-1).text.replace('conversation_id: ', '')
        const list = async (sender: Sender) =>
          (await rpc(sender, 'resources/list')).result.resources.map(({ name }: { name: string }) => name).sort()
        const read = async (sender: Sender, id: string) => {
          const { result, error } = await rpc(sender, 'resources/read', {
            uri: `agent-host://talk/conversations/${id}`,
          })
          return error?.message ?? JSON.parse(result.contents[0].text).map(({ content }: Message) => content)
        }
        const id = await begin('eve', 'my PIN is 4711')
        await begin('ada', 'hi')
        await begin('key', 'of no user')
        expect(await list('ada')).to.deep.equal(['talk: hi'])
        expect(await list('eve')).to.deep.equal(['talk: my PIN is 4711'])
        expect(await list('key')).to.deep.equal(['talk: hi', 'talk: my PIN is 4711', 'talk: of no user'])
        expect(await read('ada', id)).to.equal(`Resource not found: agent-host://talk/conversations/${id}`)
        expect((await say('ada', 'x', id)).error.message).to.equal(
          'Invalid params: conversation_id is unknown, or was forgotten',
        )
        expect((await say('key', 'of a key', id)).result.content.at(-1).text).to.equal(`conversation_id: ${id}`)
        await say('eve', 'again', id)
        const said = ['my PIN is 4711', 'of a key', 'again'].flatMap((text) => [text, text])
        for (const sender of ['eve', 'key'] as const) expect(await read(sender, id)).to.deep.equal(said)
        expect(await list('eve')).to.deep.equal(['talk: my PIN is 4711'])
        const shared = globalThis as { endLate?: () => void }
        const late = say('key', 'late', id)
        await eventually(() => expect(shared.endLate).to.be.a('function'))
        expect((await ask(senders.ada, { user: 'eve' }, '/forget')).json.records).to.equal(1)
        shared.endLate?.()
        delete shared.endLate
        expect((await late).result.content).to.deep.equal([{ type: 'text', text: 'late' }])
        expect(await list('key')).to.deep.equal(['talk: hi', 'talk: of no user'])
        expect((await say('key', 'x', id)).error.message).to.include('unknown, or was forgotten')
      } finally {
        await closeServers()
        await redis?.remove()
      }
    })
  }

  it('end the WebSocket that they have opened, when their time is over', async () => {
    const { listen } = await open()
    const url = await listen()
    const untilMs = (Math.floor(Date.now() / 1000) + 2) * 1000
    const opened = async (exp: number) =>
      openSocket(url, { authorization: `Bearer ${await issuer.sign({ exp: exp / 1000 })}` })
    const [brief, lasting] = [await opened(untilMs), await opened(untilMs + 60_000)]
    expect((await brief.ask({ model: 'probe', input: 'facts' })).at(-1).type).to.equal('response.completed')
    expect(await brief.closed).to.equal(1006)
    expect(Date.now()).to.be.within(untilMs - 50, untilMs + 5000)
    expect((await lasting.ask({ model: 'probe', input: 'facts' })).at(-1).type).to.equal('response.completed')
    lasting.socket.close()
  })

  it('end the subscription to changes that they have opened, but no answer', async () => {
    const { listen } = await open()
    const url = `${await listen()}/mcp`
    const untilMs = (Math.floor(Date.now() / 1000) + 2) * 1000
    const authorization = `Bearer ${await issuer.sign({ exp: untilMs / 1000 })}`
    const send = async (method: string, params: object, more: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          ...more,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
      })
    const listening = await send('subscriptions/listen', { notifications: { toolsListChanged: true } })
    expect(listening.status).to.equal(200)
    const call = { name: 'probe', arguments: { message: 'wait 3000' } }
    const answering = send('tools/call', call, { 'mcp-name': 'probe' })
    const end = await listening.text().catch((error: Error) => error.message)
    expect(end).to.equal('terminated')
    expect(Date.now()).to.be.within(untilMs - 50, untilMs + 5000)
    expect(await (await answering).text()).to.include('waited')
  })

  it('have what /mcp keeps of their user in memory deleted, with all other data', async () => {
    const { ask } = await open(
      { jwtClaims: ['scopes=scope'] },
      { 'agents/guide.yml': 'id: guide\nconversation: true\nmodules: [{ id: main, module: echo }]' },
    )
    const tokens = {
      ada: await issuer.sign({ scope: 'run forget' }),
      eve: await issuer.sign({ scope: 'run', sub: 'eve' }),
    }
    const call = async (name: keyof typeof tokens, conversation_id?: string) => {
      const params = { name: 'guide', arguments: { message: `of ${name}`, conversation_id } }
      const { json } = await ask(tokens[name], { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, '/mcp')
      return json
    }
    const begin = async (name: keyof typeof tokens) => {
      const { text } = (await call(name)).result.content.at(-1)
      return /^conversation_id: (.*)$/.exec(text)?.[1]
    }
    const [ada, eve] = [await begin('ada'), await begin('eve')]
    expect((await call('ada', ada)).result.content.at(-1).text).to.equal(`conversation_id: ${ada}`)
    const { status, json } = await ask(tokens.ada, { user: 'ada' }, '/forget')
    expect([status, json.records]).to.deep.equal([200, 1])
    expect(JSON.stringify(await call('ada', ada))).to.include('unknown, or was forgotten')
    expect((await call('eve', eve)).result.content.at(-1).text).to.equal(`conversation_id: ${eve}`)
  })

  it('hold on while the issuer is away, as long as its keys are known; without them the answer is 503', async () => {
    const { status } = await open()
    issuer.answer = { status: 500, body: '{}' }
    const token = await issuer.sign()
    expect(await status(token)).to.equal(503)
    for (const answer of [
      { status: 302, body: '', location: issuer.url },
      { status: 200, body: ' '.repeat(70_000) },
      { status: 200, body: '[]' },
    ]) {
      issuer.answer = answer
      const other = await open()
      expect(await other.status(token)).to.equal(503)
    }
    issuer.answer = undefined
    const another = await open()
    expect(await another.status(token)).to.equal(200)
    issuer.answer = { status: 500, body: '{}' }
    expect([await another.status(token), await another.status(await issuer.sign({ sub: 'bob' }))]).to.deep.equal([
      200, 200,
    ])
  })

  describe('that are signed with a key that is not known yet', () => {
    const { now } = performance
    const lines: string[] = []
    let tokens: Tokens

    beforeEach(async () => {
      lines.length = 0
      const log = { warn: (...said: unknown[]) => lines.push(said.join()) }
      tokens = new Tokens({ jwtIssuer: issuer.url, jwtAudience: 'agents', jwtClaims: [] }, log)
      await senderOf(await issuer.sign())
      performance.now = () => now.call(performance) + 31_000
      await issuer.addKey('ES256', 'next')
    })

    afterEach(() => {
      performance.now = now
    })

    const senderOf = async (token: string) => (await tokens.check(token, digestOf(token)))?.principal.name
    const sign = (sub: string) => issuer.sign({ sub }, { alg: 'ES256', kid: 'next' })

    it('are taken, also those that come while the keys are being asked for', async () => {
      const [ada, bob] = [await sign('ada'), await sign('bob')]
      let send = () => {}
      issuer.held = new Promise((resolve) => {
        send = resolve
      })
      const first = senderOf(ada)
      await eventually(() => expect(issuer.asked).to.equal(2))
      const second = senderOf(bob)
      send()
      expect(await Promise.all([first, second])).to.deep.equal(['jwt:ada', 'jwt:bob'])
      expect(issuer.asked).to.equal(2)
    })

    it('are refused while the issuer is away, which the log says', async () => {
      issuer.answer = { status: 500, body: '{}' }
      expect(await senderOf(await sign('ada'))).to.equal(undefined)
      expect(lines).to.deep.equal([
        `The keys of ${issuer.url} cannot be read: ${issuer.url}/jwks answers 500. Those that are known stay in use.`,
      ])
    })
  })

  it('open /mcp to the official client, which finds the issuer by itself', async () => {
    const { listen, ask } = await open()
    const refused = await ask(undefined, MCP_CALL, '/mcp')
    expect([refused.status, refused.json.error.code]).to.deep.equal([401, -32001])
    const url = `${await listen()}/mcp`
    const found = await discoverOAuthProtectedResourceMetadata(url)
    expect(found).to.deep.include({ resource: url, authorization_servers: [issuer.url] })
    const metadata = await discoverAuthorizationServerMetadata(issuer.url)
    expect(metadata?.issuer).to.equal(issuer.url)
    const client = new Client({ name: 'test', version: '1' })
    const headers = { authorization: `Bearer ${await issuer.sign()}` }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    const result = await client.callTool({ name: 'probe', arguments: { message: 'facts' } })
    expect(JSON.stringify(result.content)).to.include('ada')
    await client.close()
  })

  it('change nothing in the answers of /mcp where that has a key of its own', async () => {
    const { ask } = await open({ mcpApiKey: 'secret' })
    const { status, json, headers } = await ask('wrong', MCP_CALL, '/mcp')
    expect([status, json.error.code, headers['www-authenticate']]).to.deep.equal([200, -32001, undefined])
    expect((await ask(await issuer.sign(), MCP_CALL, '/mcp')).json.result.isError).to.not.equal(true)
  })

  for (const [what, options, message] of [
    ['no audience', { jwtAudience: undefined }, '--jwt-issuer needs --jwt-audience'],
    [
      'an issuer without TLS',
      { jwtIssuer: 'http://issuer.example' },
      '--jwt-issuer (AGENT_HOST_JWT_ISSUER) must be the https address',
    ],
    [
      'an issuer with a password, which refusals would show',
      { jwtIssuer: 'https://ann:secret@issuer.example' },
      '--jwt-issuer (AGENT_HOST_JWT_ISSUER) must be an address without a user name and a password.',
    ],
    [
      'a claim that nothing reads',
      { jwtClaims: ['org=org_id'] },
      "must be tenant=<claim>, user=<claim> or scopes=<claim>, not 'org=org_id'",
    ],
  ] as const) {
    it(`are no reason to start with ${what}`, async () => {
      const failure = await open(options as Partial<ServerOptions>).catch((error: Error) => error)
      expect(failure).to.include({ code: 'OPTION_INVALID' })
      expect(String(failure)).to.include(message)
    })
  }
})
