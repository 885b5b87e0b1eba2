import { expect } from 'chai'
import { isLoopback } from '../../../src/server/guards/host-check.ts'
import { eventually } from '../../support/eventually.ts'
import { connectRaw } from '../../support/raw-http.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'

describe('hosts and origins', () => {
  afterEach(closeServers)

  it('of this machine are recognized in any spelling', () => {
    for (const name of ['localhost', 'localhost.', 'a.localhost', '127.1', '0177.0.0.1', '0x7f.1', '::1', '[::1]']) {
      expect(isLoopback(name), name).to.equal(true)
    }
    for (const name of ['::ffff:127.0.0.1', '[::ffff:7f00:1]', '127.9.9.9'])
      expect(isLoopback(name), name).to.equal(true)
    for (const name of ['::ffff:7.240.0.1', '::ffff:7f0:1', '::ffff:7f:1'])
      expect(isLoopback(name), name).to.equal(false)
    for (const name of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.test', 'localhost.evil.test', 'fa.de', '']) {
      expect(isLoopback(name), name).to.equal(false)
    }
  })

  it('are checked on every address if a host is allowed by name', async () => {
    const { app } = await makeServer({ host: '0.0.0.0', allowedHosts: ['agents.example'] })
    const statusOf = async (host: string) => (await app.inject({ url: '/compat/models', headers: { host } })).statusCode
    expect(await statusOf('agents.example:8000')).to.equal(200)
    expect(await statusOf('127.0.0.1:8000')).to.equal(200)
    expect(await statusOf('evil.test')).to.equal(403)
    const open = await makeServer({ host: '0.0.0.0', publicUrl: 'https://agents.example' })
    expect((await open.app.inject({ url: '/compat/models', headers: { host: 'any.test' } })).statusCode).to.equal(200)
  })

  it('may be given only once', async () => {
    const url = await (await makeServer()).listen()
    const { host } = new URL(url)
    for (const [head, status] of [
      [`GET /compat/models HTTP/1.1\r\nHost: ${host}\r\n`, 200],
      [`GET http://${host}/compat/models HTTP/1.1\r\nHost: ${host}\r\n`, 200],
      [`GET /compat/models HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}\r\n`, 400],
      [`GET http://evil.test/compat/models HTTP/1.1\r\nHost: ${host}\r\n`, 400],
    ] as const) {
      const { received, socket } = await connectRaw(url, `${head}Connection: close\r\n\r\n`)
      await eventually(() => expect(received(), head).to.match(new RegExp(`^HTTP/1.1 ${status} `)))
      socket.destroy()
    }
  })

  it('allow every page by default, and only listed ones with --cors-origin', async () => {
    const open = await makeServer()
    const anybody = await open.app.inject({ url: '/compat/models', headers: { origin: 'https://evil.test' } })
    expect(anybody.headers['access-control-allow-origin']).to.equal('https://evil.test')

    const { app } = await makeServer({
      adapters: ['ChatCompatApiAdapter', 'McpApiAdapter'],
      corsOrigins: ['https://app.example', 'http://localhost:5173'],
    })
    const ask = async (origin: string | undefined, method: 'GET' | 'POST' | 'OPTIONS', url: string) => {
      const response = await app.inject({
        method,
        url,
        headers: {
          host: 'localhost:8000',
          ...(origin === undefined ? {} : { origin }),
          ...(method === 'OPTIONS' ? { 'access-control-request-method': 'POST' } : {}),
        },
        ...(method === 'POST' ? { payload: chat('echo', 'hi') } : {}),
      })
      return [response.statusCode, response.headers['access-control-allow-origin']]
    }
    const app1 = 'https://app.example'
    expect(await ask(app1, 'POST', COMPLETIONS)).to.deep.equal([200, app1])
    expect(await ask(app1, 'OPTIONS', COMPLETIONS)).to.deep.equal([204, app1])
    expect(await ask(undefined, 'POST', COMPLETIONS)).to.deep.equal([200, undefined])
    expect(await ask('http://localhost:8000', 'POST', COMPLETIONS)).to.deep.equal([200, undefined])
    for (const evil of ['https://evil.test', 'null', 'https://app.example.evil.test']) {
      expect(await ask(evil, 'POST', COMPLETIONS)).to.deep.equal([403, undefined])
      expect(await ask(evil, 'GET', '/compat/models')).to.deep.equal([200, undefined])
      expect((await ask(evil, 'OPTIONS', COMPLETIONS))[1]).to.equal(undefined)
      expect(await ask(evil, 'GET', '/mcp')).to.deep.equal([403, undefined])
      expect(await ask(evil, 'POST', '/mcp/?x=1')).to.deep.equal([403, undefined])
    }
  })

  it('learn from a preflight what they may send, and from every answer what they may read', async () => {
    const { app } = await makeServer()
    const origin = 'https://app.example'
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-mine' }
    const read = {
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers':
        'x-request-id, x-response-id, x-should-retry, idempotent-replayed, retry-after, ratelimit, mcp-session-id, x-ignored',
    }
    const preflight = await app.inject({ method: 'OPTIONS', url: COMPLETIONS, headers: { origin, ...asked } })
    expect([preflight.statusCode, preflight.body]).to.deep.equal([204, ''])
    expect(preflight.headers).to.include({
      ...read,
      vary: 'Origin, Access-Control-Request-Headers',
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers': 'authorization,x-mine',
    })
    const answer = await app.inject({ url: '/compat/models', headers: { origin } })
    expect(answer.headers).to.include({ ...read, vary: 'Origin' })
    const ofProgram = await app.inject({ url: '/compat/models' })
    expect(ofProgram.headers).to.include({ vary: 'Origin' }).and.not.have.property('access-control-allow-origin')
    const unasked = await app.inject({ method: 'OPTIONS', url: COMPLETIONS })
    expect([unasked.statusCode, unasked.headers.allow]).to.deep.equal([405, 'POST'])
  })

  it('of embedding pages get nothing: answers are not sniffed, cached or framed', async () => {
    const { app } = await makeServer()
    for (const url of ['/compat/models', '/nowhere']) {
      expect((await app.inject({ url })).headers).to.include({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
      })
    }
  })
})
