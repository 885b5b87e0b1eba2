import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { HostError } from 'agent-host'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { connectRaw } from '../support/raw-http.ts'
import { chat, closeServers, makeServer, probeSeen, readEvents } from '../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'
const JSON_TYPE = { 'content-type': 'application/json' }

describe('buildServer', () => {
  afterEach(closeServers)

  const refusal = async (request: object, options = {}) => {
    const { app } = await makeServer(options)
    const response = await app.inject(request)
    expect(response.headers['content-type']).to.equal('application/json; charset=utf-8')
    return [response.statusCode, response.json()]
  }

  it('answers unknown routes with a detail, and other methods with Allow', async () => {
    expect(await refusal({ url: '/nowhere' })).to.deep.equal([404, { detail: 'Not Found' }])
    expect(await refusal({ method: 'POST', url: COMPLETIONS, payload: {} }, { adapters: [] })).to.deep.equal([
      404,
      {
        detail:
          'Not Found: this server has no adapter, so it serves no API. Start it with one: --adapter ChatCompatApiAdapter',
      },
    ])
    const { app } = await makeServer()
    const response = await app.inject({ method: 'PUT', url: COMPLETIONS, payload: {} })
    expect([response.statusCode, response.json(), response.headers.allow]).to.deep.equal([
      405,
      { detail: 'Method Not Allowed' },
      'POST',
    ])
    const long = `/compat/responses/${'x'.repeat(501)}`
    expect(await refusal({ url: long }, { adapters: ['ResponsesCompatApiAdapter'] })).to.deep.equal([
      414,
      { detail: 'The path is too long' },
    ])
    expect(await refusal({ url: '/%ff' })).to.deep.equal([400, { detail: "'/%ff' is not a valid url component" }])
  })

  it('accepts only JSON of limited size and depth', async () => {
    const post = (payload: string, headers: object = JSON_TYPE, options = {}) =>
      refusal({ method: 'POST', url: COMPLETIONS, payload, headers }, options)
    expect((await post('{'))[0]).to.equal(400)
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=latin1' },
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
    ]) {
      expect(await post('{}', headers)).to.deep.equal([
        415,
        { detail: 'The body must be uncompressed JSON in UTF-8, with the header Content-Type: application/json' },
      ])
    }
    expect(await post(`"${'x'.repeat(2000)}"`, JSON_TYPE, { bodyLimit: 1000 })).to.deep.equal([
      413,
      { detail: 'The body is too large' },
    ])
    const deep = (levels: number) =>
      `{"model":"echo","messages":[{"role":"user","content":"x"}],"x":${'['.repeat(levels)}${']'.repeat(levels)}}`
    expect(await post(deep(100))).to.deep.equal([
      400,
      { detail: 'The body cannot be accepted: it is nested deeper than 100 levels' },
    ])
    expect((await post(deep(99)))[0]).to.equal(200)
  })

  it('refuses a compressed body behind the door, with the headers of every answer', async () => {
    const { app } = await makeServer({ compatApiKey: 'secret' })
    const post = (authorization: string) =>
      app.inject({
        method: 'POST',
        url: COMPLETIONS,
        payload: '{}',
        headers: { ...JSON_TYPE, 'content-encoding': 'gzip', origin: 'https://page.example', authorization },
      })
    expect((await post('Bearer wrong')).statusCode).to.equal(401)
    const { statusCode, headers } = await post('Bearer secret')
    expect([statusCode, headers['access-control-allow-origin']]).to.deep.equal([415, 'https://page.example'])
    expect(headers).to.include.keys('x-request-id', 'x-content-type-options')
  })

  it('answers a request that expects something unknown as any other', async () => {
    const { listen } = await makeServer({})
    const asked = get(`${await listen()}/compat/models`, { headers: { expect: 'x' } })
    const [answer]: IncomingMessage[] = await once(asked, 'response')
    expect([answer?.statusCode, answer?.headers['content-type']]).to.deep.equal([
      200,
      'application/json; charset=utf-8',
    ])
    answer?.resume()
  })

  it('reads a body that is too large to its end, so that its client learns why', async () => {
    const { app } = await makeServer({ bodyLimit: 1000 })
    const payload = `"${'x'.repeat(2000)}"`
    for (const url of [COMPLETIONS, '/v1/chat/completions']) {
      const { statusCode, headers } = await app.inject({ method: 'POST', url, payload, headers: JSON_TYPE })
      expect([statusCode, headers.connection]).to.deep.equal([413, undefined])
    }
  })

  it('answers a client that sends a large body in chunks to its end before it reads, and goes on with its connection', async () => {
    const { listen } = await makeServer({ bodyLimit: 1000 })
    const head = (more: string) =>
      `POST ${COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}\r\n\r\n`
    const { socket } = await connectRaw(await listen(), head('Transfer-Encoding: chunked'), { reads: false })
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    for (let count = 0; count < 200; count++) if (!socket.write(chunk)) await once(socket, 'drain')
    const text = JSON.stringify(chat('echo', 'hi'))
    socket.write(`0\r\n\r\n${head(`Content-Length: ${text.length}`)}${text}`)
    let answers = ''
    socket
      .setEncoding('latin1')
      .on('data', (piece) => (answers += piece))
      .resume()
    await eventually(() => expect(answers).to.match(/^HTTP\/1\.1 413 [\s\S]*\}HTTP\/1\.1 200 OK/))
    socket.destroy()
  })

  it('rejects keys that would change object prototypes', async () => {
    const body = (extra: string) => `{"model":"probe","messages":[{"role":"user","content":"facts"}]${extra}}`
    const post = (payload: string) => refusal({ method: 'POST', url: COMPLETIONS, payload, headers: JSON_TYPE })
    for (const extra of [
      ',"metadata":{"__proto__":{"admin":true}}',
      ',"metadata":{"\\u005f_proto_\\u005f":{"admin":true}}',
      ',"x":{"constructor":{"prototype":{"a":1}}}',
    ]) {
      expect(await post(body(extra))).to.deep.equal([
        400,
        {
          detail:
            "The body cannot be accepted: it has a key that would change prototypes, '__proto__' or 'constructor'",
        },
      ])
    }
    expect((await post(body(',"metadata":{"text":"\\"__proto__\\": 1"}')))[0]).to.equal(200)
  })

  it('keeps the message of an internal error in the log', async () => {
    const files = {
      'adapters/faulty.ts': `import { HostError } from 'agent-host'
export class Faulty { adapt(app) {
  app.get('/ours', () => { throw new HostError('PROJECT_INVALID', 'the secret is 42') })
  app.get('/other', () => { throw new Error('the secret is 42') })
  app.get('/odd', () => { throw Object.assign(new Error('the secret is 42'), { statusCode: 599 }) })
} }`,
    }
    const { app } = await makeServer({ adapters: ['./adapters/faulty.ts#Faulty'], debug: false }, files)
    const answers = await Promise.all(['/ours', '/other', '/odd'].map((url) => app.inject({ url })))
    expect(answers.map(({ statusCode, body }) => [statusCode, body])).to.deep.equal([
      [500, '{"detail":"Internal Server Error"}'],
      [500, '{"detail":"Internal Server Error"}'],
      [599, '{"detail":"Internal Server Error"}'],
    ])
  })

  it('serves only names of this machine on a loopback address', async () => {
    const { app } = await makeServer({ allowedHosts: ['agents.test'] })
    const status = async (host: string) => (await app.inject({ url: '/compat/models', headers: { host } })).statusCode
    for (const host of [
      'localhost',
      'localhost:8000',
      'app.localhost',
      '127.0.0.1:1',
      '127.8.8.8',
      '[::1]:80',
      'agents.test:80',
    ]) {
      expect([host, await status(host)]).to.deep.equal([host, 200])
    }
    for (const host of ['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', '10.0.0.1']) {
      expect([host, await status(host)]).to.deep.equal([host, 403])
    }
  })

  it('allows every origin, method and header, with credentials, even on errors', async () => {
    const { app } = await makeServer({ compatApiKey: 'key-1234' })
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: COMPLETIONS,
      headers: {
        origin: 'http://a.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, x-any',
      },
    })
    expect(preflight.statusCode).to.equal(204)
    expect(preflight.headers).to.include({
      'access-control-allow-origin': 'http://a.test',
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'authorization, x-any',
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    })
    expect(preflight.headers).not.to.have.property('access-control-allow-private-network')
    const refused = await app.inject({
      method: 'POST',
      url: COMPLETIONS,
      payload: {},
      headers: { origin: 'http://a.test' },
    })
    expect([refused.statusCode, refused.headers['access-control-allow-origin']]).to.deep.equal([401, 'http://a.test'])
    expect(refused.headers['access-control-expose-headers']).to.contain('x-request-id, x-response-id')
  })

  it('omits CORS headers for clients without an origin, except Vary', async () => {
    const { app } = await makeServer()
    const { headers } = await app.inject(`/compat/models`)
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).to.deep.equal([])
    expect(headers.vary).to.equal('Origin')
  })

  it('keeps the CORS and request id headers on a stream', async () => {
    const server = await makeServer()
    const url = await server.listen()
    const headers = { ...JSON_TYPE, origin: 'http://a.test' }
    const response = await fetch(url + COMPLETIONS, {
      method: 'POST',
      headers,
      body: JSON.stringify(chat('echo', 'x', { stream: true })),
    })
    expect(response.headers.get('access-control-allow-origin')).to.equal('http://a.test')
    expect(response.headers.get('x-request-id')).to.match(/^[0-9a-f]{8}-1$/)
    await response.text()
  })

  it('aborts the run when the client disconnects, streamed or not', async () => {
    const server = await makeServer()
    const url = await server.listen()
    for (const stream of [false, true]) {
      probeSeen().splice(0)
      const controller = new AbortController()
      const body = JSON.stringify(chat('probe', 'wait 5000', { stream }))
      const request = fetch(url + COMPLETIONS, { method: 'POST', headers: JSON_TYPE, body, signal: controller.signal })
      if (stream) await request
      await eventually(() => expect(probeSeen()).to.deep.equal(['began 5000']))
      controller.abort()
      await request.catch(() => {})
      await eventually(() => expect(probeSeen()).to.deep.equal(['began 5000', 'aborted 5000']))
    }
  })

  it('keeps an idle stream alive with empty chunks', async () => {
    const { app } = await makeServer({ streamingTimeout: 1 })
    const response = await app.inject({
      method: 'POST',
      url: COMPLETIONS,
      payload: chat('probe', 'wait 1600', { stream: true }),
    })
    const contents = (readEvents(response.body) as { choices: { delta: { content?: string } }[] }[]).map(
      (e) => e.choices?.[0]?.delta.content,
    )
    expect(contents).to.deep.equal(['', '', 'waited', undefined, undefined])
  })

  it('begins the stream of an agent that stays silent, although its first word could still be an error with a status', async () => {
    const server = await makeServer({ streamingTimeout: 1 })
    const body = JSON.stringify(chat('probe', 'wait 1800', { stream: true }))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${await server.listen()}/v1/chat/completions`, { method: 'POST', headers, body })
    const texts: string[] = []
    for await (const chunk of response.body ?? []) texts.push(Buffer.from(chunk).toString())
    expect(texts[0]).to.include('"role":"assistant"').and.not.include('waited')
    expect(texts.slice(1).join('')).to.include('waited')
  })

  it('slows the agent down for a slow reader, and loses nothing', async () => {
    const server = await makeServer()
    const url = await server.listen()
    const before = process.memoryUsage().rss
    const request = JSON.stringify(chat('probe', 'flood 40000', { stream: true }))
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST ${COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${request.length}\r\n\r\n${request}`,
    )
    await setTimeout(1000)
    expect(process.memoryUsage().rss - before).to.be.below(60 * 1024 * 1024)
    let received = 0
    let tail = ''
    for await (const chunk of socket) {
      received += chunk.length
      tail = (tail + chunk.toString()).slice(-200)
    }
    expect(received).to.be.above(40_000 * 1024)
    expect(tail).to.match(/data: \[DONE\]\n\n\r\n0\r\n\r\n$/)
  })

  it('fails an agent that fills the queue of a stalled reader', async () => {
    const server = await makeServer()
    const url = await server.listen()
    const request = JSON.stringify(chat('probe', 'burst 20000', { stream: true }))
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST ${COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${request.length}\r\n\r\n${request}`,
    )
    await setTimeout(300)
    let body = ''
    for await (const chunk of socket) body += chunk
    expect(body.length).to.be.below(8 * 1024 * 1024)
    expect(body).to.include('data: {"error":{"message":"Agent execution failed"')
  })

  it('refuses runs above the limit with Retry-After, and finishes accepted ones', async () => {
    const { app, host } = await makeServer({ maxConcurrentRuns: 1 })
    const first = app.inject({ method: 'POST', url: COMPLETIONS, payload: chat('probe', 'wait 500') })
    await eventually(() => expect(host.runningCount).to.equal(1))
    for (const stream of [false, true]) {
      const second = await app.inject({
        method: 'POST',
        url: COMPLETIONS,
        payload: chat('probe', 'wait 1', { stream }),
      })
      expect([second.statusCode, second.headers['retry-after'], second.json()]).to.deep.equal([
        503,
        '1',
        { detail: 'All slots for runs are taken (limit: 1).' },
      ])
    }
    expect((await first).statusCode).to.equal(200)
  })

  it('drains: finishes running work, ends streams with a last frame at the deadline, refuses new work', async () => {
    const server = await makeServer({ drainTimeout: 1 })
    const url = await server.listen()
    const post = (text: string, stream: boolean) =>
      fetch(url + COMPLETIONS, {
        method: 'POST',
        headers: JSON_TYPE,
        body: JSON.stringify(chat('probe', text, { stream })),
      })
    const deaf = post('deaf', true)
    await (await deaf).body
      ?.getReader()
      .read()
      .then(() => {})
    const cut = post('deaf', true).then((response) => response.text())
    await eventually(() => expect(server.host.runningCount).to.equal(2))
    probeSeen().splice(0)
    const ends = post('wait 300', false)
    await eventually(() => expect(probeSeen()).to.deep.equal(['began 300']))
    const closing = server.close()
    expect((await post('wait 1', false)).status).to.equal(503)
    expect(await (await ends).text()).to.include('"content":"waited"')
    expect(readEvents(await cut).slice(-2)).to.deep.equal([
      { error: { message: 'The run was aborted.', type: 'server_error', code: 'server_error' } },
      '[DONE]',
    ])
    await closing
  })

  it('gives draining work and slow parts their full time, although Fastify limits its hooks', async () => {
    const { app } = await makeServer({ drainTimeout: 60 })
    expect(app.initialConfig.pluginTimeout).to.equal(0)
  })

  it('answers malformed HTTP and oversized headers in the same format', async () => {
    const server = await makeServer()
    const { port } = new URL(await server.listen())
    const say = async (text: string) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(text)
      let answer = ''
      for await (const chunk of socket) answer += chunk
      return answer.split('\r\n\r\n')
    }
    expect((await say('BROKEN\r\n\r\n'))[1]).to.equal('{"detail":"Bad Request"}')
    expect((await say(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`))[1]).to.equal(
      '{"detail":"Request Header Fields Too Large"}',
    )
    for (const version of ['1.0', '1.1']) {
      const answer = await say(`GET / HTTP/${version}\r\nConnection: close\r\n\r\n`)
      expect(answer[0]).to.match(/^HTTP\/1\.1 400 Bad Request/)
      expect(answer[1]).to.equal('{"detail":"The request names no host"}')
    }
  })

  it("loads the project's own adapters by dotted path and by file, and explains a missing one", async () => {
    const adapter = (
      name: string,
    ) => `export class ${name} { constructor({ host, options, log }) { Object.assign(this, { host, options, log }) }
      async adapt(app) { app.get('/own/${name}', () => ({ agents: this.host.list().length, port: this.options.port })) } }`
    const odd = "export const single = 1; export class Odd { adapt() { throw new Error('no port') } }"
    const two = 'export class One { adapt() {} }\nexport class Two { adapt() {} }'
    const files = {
      'adapters/slack.ts': adapter('SlackAdapter'),
      'more.js': adapter('More'),
      'odd.js': odd,
      'two.js': two,
    }
    const { app } = await makeServer({ adapters: ['adapters.slack.SlackAdapter', './more.js#More'] }, files)
    expect((await app.inject('/own/SlackAdapter')).json()).to.deep.equal({ agents: 4, port: 0 })
    expect((await app.inject('/own/More')).statusCode).to.equal(200)
    expect((await app.inject('/compat/models')).statusCode).to.equal(404)
    const failure = async (adapters: string[]) => {
      const error = await makeServer({ adapters }, files).catch(
        (thrown: { message: string; suggestions: string[] }) => thrown,
      )
      return 'suggestions' in error ? [error.message, ...error.suggestions] : []
    }
    expect(await failure(['x.ChatCompatApiAdaptr'])).to.deep.equal([
      "The adapter 'x.ChatCompatApiAdaptr' was not found.",
      "Did you mean 'ChatCompatApiAdapter'?",
      'There is no file x.ts (.mts, .js, .mjs) in the project.',
      'Built-in adapters: ChatCompatApiAdapter, ResponsesCompatApiAdapter, McpApiAdapter, TriggersAdapter, UiApiAdapter.',
    ])
    expect((await failure(['#More']))[0]).to.equal("The adapter '#More' was not found.")
    expect(await failure(['./more.js#Moer'])).to.deep.equal([
      "./more.js has no export 'Moer' that is an adapter.",
      'An adapter is a class with a method adapt(app).',
      "Did you mean 'More'?",
    ])
    expect(await failure(['./odd.js#single'])).to.deep.equal([
      "./odd.js has no export 'single' that is an adapter.",
      'An adapter is a class with a method adapt(app).',
    ])
    expect(await failure(['./odd.js'])).to.deep.equal(["The adapter 'Odd' failed to start: no port"])
    expect(await failure(['./two.js'])).to.deep.equal([
      './two.js exports no adapter as its default.',
      'An adapter is a class with a method adapt(app).',
      'Name one of its adapters: ./two.js#One',
      'Name one of its adapters: ./two.js#Two',
    ])
    expect(await failure(['./odd.js#Odd'])).to.deep.equal(["The adapter 'Odd' failed to start: no port"])
    expect(await failure(['./../more.js#More'])).to.deep.equal([
      "'./../more.js' is outside the project folder.",
      'Import it in a file of the project, and name that file.',
    ])
  })

  it('loads adapters from packages, with options of their own', async () => {
    const files = {
      'node_modules/@acme/slack/package.json':
        '{ "name": "@acme/slack", "type": "module", "exports": "./index.js", "agent-host": { "api": 1 } }',
      'node_modules/@acme/slack/index.js': `import { Type } from 'agent-host'
        export class SlackAdapter {
          static config = Type.Object({ channel: Type.String(), retries: Type.Integer({ default: 3 }), loud: Type.Boolean({ default: false }) })
          constructor({ config }) { this.config = config }
          adapt(app) { app.get('/slack', () => this.config) }
        }`,
      'node_modules/old-style/package.json': '{ "name": "old-style", "main": "index.js" }',
      'node_modules/old-style/index.js': `module.exports = { Plain: class { adapt(app) { app.get('/plain', () => 'plain') } } }`,
      'node_modules/later/package.json': '{ "name": "later", "exports": "./index.js", "agent-host": { "api": 9 } }',
    }
    const adapterOptions = ['SlackAdapter.channel=a, b', 'SlackAdapter.loud=true'] as never
    const { app } = await makeServer(
      { adapters: ['@acme/slack#SlackAdapter', 'old-style#Plain'], adapterOptions },
      files,
    )
    expect((await app.inject('/slack')).json()).to.deep.equal({ channel: 'a, b', retries: 3, loud: true })
    expect((await app.inject('/plain')).body).to.equal('plain')
    const refusal = (adapters: string[], options = {}) =>
      makeServer({ adapters, adapterOptions: options }, files).then(
        () => 'It was built.',
        ({ code, message }: HostError) => `${code} ${message}`,
      )
    expect(await refusal(['@acme/slack#SlackAdapter'])).to.equal(
      'OPTION_INVALID Options of SlackAdapter: channel is missing.',
    )
    expect(await refusal(['old-style#Plain'], { Plan: { a: 1 } })).to.equal(
      "OPTION_INVALID There are options for 'Plan', and no such adapter is served.",
    )
    expect(await refusal(['old-style#Plain'], { Plain: 'loud' })).to.match(
      /^OPTION_INVALID .* must have an object of names and values for Plain\.$/,
    )
    expect(await refusal(['later#Later'])).to.match(/^MODULE_INVALID The package 'later' was written for version 9/)
    expect(await refusal(['@acme/none#None'])).to.equal(
      "ADAPTER_NOT_FOUND The adapter '@acme/none#None' was not found.",
    )
  })

  for (const host of ['203.0.113.9', 'nowhere.invalid']) {
    it(`cannot listen at '${host}', which is no address of this machine`, async () => {
      const server = await makeServer({ host })
      const refused = await server.listen().catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(HostError)
      expect(refused).to.include({ code: 'OPTION_INVALID', message: `This machine has no address '${host}'.` })
    })
  }

  it('rejects invalid options, and a public address without a key under --require-auth', async () => {
    const message = (options: object) =>
      makeServer(options).then(
        () => '',
        (error: Error) => error.message,
      )
    expect(await message({ port: 70_000 })).to.equal(
      "--port (AGENT_HOST_PORT) must be a whole number from 0 to 65535, not '70000'.",
    )
    expect(await message({ prt: 1 })).to.equal("There is no option 'prt'.")
    expect(await message({ compatApiKey: '' })).to.equal('--compat-api-key (CUSTOM_COMPAT_API_KEY) must not be empty.')
    expect(await message({ host: '0.0.0.0', requireAuth: true })).to.match(
      /^0\.0\.0\.0 can be reached from other machines, and ChatCompatApiAdapter/,
    )
  })

  it('parses sizes and booleans in common notations', async () => {
    const { options } = await makeServer({ bodyLimit: '512kb', debug: 'true', allowedHosts: 'a, b' } as object)
    expect([options.bodyLimit, options.debug, options.allowedHosts]).to.deep.equal([524_288, true, ['a', 'b']])
  })
})
