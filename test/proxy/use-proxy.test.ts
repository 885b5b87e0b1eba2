import dns from 'node:dns'
import { once } from 'node:events'
import http, { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { mock } from 'node:test'
import { expect } from 'chai'
import { makeGuardedFetch } from '../../src/proxy/guarded-fetch.ts'
import { readProxySettings } from '../../src/proxy/proxy-settings.ts'
import { useProxy } from '../../src/proxy/use-proxy.ts'

const DISPATCHER = Symbol.for('undici.globalDispatcher.1')

async function listen(answer: RequestListener): Promise<{ server: Server; port: number }> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

function ask(url: string, options: http.RequestOptions = {}): Promise<string> {
  const { request } = url.startsWith('https:') ? https : http
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (reply: IncomingMessage) => void text(reply).then(resolve, reject))
    sent.on('error', reject)
    sent.end()
  })
}

describe('a process that asks proxies', () => {
  const asked: string[] = []
  const before_ = { http: http.globalAgent, https: https.globalAgent }
  let dispatcher: unknown
  let proxy: { server: Server; port: number }
  let direct: { server: Server; port: number }

  before(async () => {
    await fetch('data:,')
    dispatcher = Reflect.get(globalThis, DISPATCHER)
    direct = await listen((request, reply) => reply.end(`direct ${request.url}`))
    proxy = await listen((request, reply) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
      reply.end('proxied')
    })
    proxy.server.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`)
      if (request.url?.startsWith('silent.')) return
      if (request.url?.startsWith('closed.')) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      // It speaks no TLS: the client ends the tunnel.
      const target = connect(direct.port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
      socket
        .on('error', () => target.destroy())
        .pipe(target)
        .pipe(socket)
    })
    const address = `http://me:p%40ss@127.0.0.1:${proxy.port}`
    const settings = readProxySettings({ HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: 'in.invalid' })
    if (settings) await useProxy(settings)
  })

  afterEach(() => {
    asked.length = 0
  })

  after(() => {
    Object.assign(globalThis, { [DISPATCHER]: dispatcher })
    Object.assign(http, { globalAgent: before_.http })
    Object.assign(https, { globalAgent: before_.https })
    for (const { server } of [proxy, direct]) server.close()
  })

  const key = `Basic ${Buffer.from('me:p@ss').toString('base64')}`

  it('names the whole address of http, by fetch and node:http, each time', async () => {
    for (let round = 0; round < 2; round++) {
      expect(await (await fetch('http://api.invalid/a?b=1')).text()).to.equal('proxied')
      expect(await ask('http://api.invalid/a?b=1')).to.equal('proxied')
      expect(await ask('http://api.invalid/a?b=1', { agent: false })).to.equal('proxied')
    }
    expect(asked).to.deep.equal(Array.from({ length: 6 }, () => `http://api.invalid/a?b=1 ${key}`))
  })

  it('asks for a tunnel to https', async () => {
    await fetch('https://api.invalid/').catch(() => {})
    await ask('https://api.invalid:8443/').catch(() => {})
    expect(asked).to.deep.equal([`CONNECT api.invalid:443 ${key}`, `CONNECT api.invalid:8443 ${key}`])
    const refused = await ask('https://closed.invalid/').catch(String)
    expect(refused).to.match(/The proxy http:\/\/127\.0\.0\.1:\d+ answered 403 when asked for closed\.invalid:443\./)
  })

  it('gives up a tunnel that a proxy never opens nor refuses, and one whose connection it closes', async () => {
    const url = 'https://silent.invalid/'
    const asks = once(proxy.server, 'connect')
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const failure = ask(url).catch(String)
      const [, socket] = (await asks) as [IncomingMessage, Socket]
      mock.timers.tick(29_999)
      expect(socket.destroyed).to.equal(false)
      mock.timers.tick(1)
      expect(await failure).to.match(/The proxy http:\S+ did not answer for 30 s when asked for silent\.invalid:443\./)
    } finally {
      mock.timers.reset()
    }
    proxy.server.once('connect', (_request, socket: Socket) => socket.destroy())
    expect(await ask(url).catch(String)).to.include('hang up')
  })

  it('reaches loopback, and what NO_PROXY lists, directly', async () => {
    const url = `http://localhost:${direct.port}/x`
    expect([await ask(url), await (await fetch(url)).text()]).to.deep.equal(['direct /x', 'direct /x'])
    expect(await ask('http://in.invalid/').catch(String)).to.contain('ENOTFOUND')
    expect(await fetch('https://in.invalid/').catch(({ cause }) => String(cause))).to.contain('ENOTFOUND')
    expect(asked).to.deep.equal([])
  })

  it('guards addresses of documents before a proxy gets them', async () => {
    const guarded = makeGuardedFetch({ namedHosts: new Set(['named.invalid']), maxBytes: 1000 })
    for (const url of ['http://10.1.2.3/', 'http://[fd00::1]/', 'http://169.254.169.254/latest'])
      expect(await guarded(url).catch(String)).to.match(/is not public/)
    const { lookup } = dns
    const toPrivate = (_host: string, _options: object, done: (error: null, found: object[]) => void) =>
      done(null, [
        { address: '8.8.8.8', family: 4 },
        { address: '10.0.0.8', family: 4 },
      ])
    try {
      Object.assign(dns, { lookup: toPrivate })
      syncBuiltinESMExports()
      const refused = await guarded('http://rebound.example/').catch(String)
      expect(refused).to.contain('rebound.example has the address 10.0.0.8, which is not public')
    } finally {
      Object.assign(dns, { lookup })
      syncBuiltinESMExports()
    }
    expect(asked).to.deep.equal([])
    for (const url of ['http://unknown.invalid/a', 'http://named.invalid/b'])
      expect(await (await guarded(url)).text()).to.equal('proxied')
    expect(asked).to.have.lengthOf(2)
    await guarded[Symbol.asyncDispose]()
  })
})
