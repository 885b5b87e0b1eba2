import dns from 'node:dns'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer as createTcpServer, isIP, type LookupFunction, Socket } from 'node:net'
import { messageOf } from 'agent-host'
import { expect } from 'chai'
import { fetchWithinOrigin, isPrivate, makeGuardedFetch } from '../../src/proxy/guarded-fetch.ts'

describe('the guarded fetch', () => {
  it('tells private addresses from public ones, in every notation', () => {
    const hidden = ['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0', '100.64.0.1']
    const hidden6 = [
      '::1',
      '::',
      'fe80::1',
      'fc00::1',
      'fd12::1',
      '::ffff:127.0.0.1',
      '::ffff:a9fe:a9fe',
      '64:ff9b::7f00:1',
      'fe80::1%lo',
      '100:0:0:1::1',
      '3fff::1',
      '5f00::1',
    ]
    const open = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8']
    expect([...hidden, ...hidden6].filter((address) => !isPrivate(address))).to.deep.equal([])
    expect(open.filter(isPrivate)).to.deep.equal([])
  })

  it('sends no header that makes another message of a request, whoever asks for it', async () => {
    const fetch = makeGuardedFetch({ namedHosts: new Set(['127.0.0.1']), maxBytes: 1000 })
    for (const name of ['content-length', 'Host', 'transfer-encoding', 'connection']) {
      const said = await fetch('http://127.0.0.1:1/', { method: 'POST', body: 'x', headers: { [name]: '1' } }).catch(
        messageOf,
      )
      expect(said).to.equal(
        `The request to 127.0.0.1:1: the header '${name.toLowerCase()}' is set by HTTP itself. Leave it out.`,
      )
    }
    await fetch[Symbol.asyncDispose]()
  })

  it('fails at once where the answer is 101, or none', async () => {
    await using fetch = makeGuardedFetch({ namedHosts: new Set(['127.0.0.1']), maxBytes: 1000 })
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'
    for (const [answer, problem] of [
      [upgrade, 'the server answered 101'],
      ['', 'socket hang up'],
    ] as const) {
      const server = createTcpServer((socket) => socket.once('data', () => socket.end(answer))).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const init = { signal: AbortSignal.timeout(20_000) }
      expect(await fetch(`http://127.0.0.1:${port}/`, init).catch(messageOf)).to.equal(problem)
      server.close()
    }
  })

  it('takes a status that no answer should have, as 599', async () => {
    await using fetch = makeGuardedFetch({ namedHosts: new Set(['127.0.0.1']), maxBytes: 1000 })
    const answer = 'HTTP/1.1 999 Request denied\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'
    const server = createTcpServer((socket) => socket.once('data', () => socket.end(answer))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}/`)
    expect([response.status, await response.text()]).to.deep.equal([599, 'no'])
    server.close()
  })

  it('ends with its signal', async () => {
    await using fetch = makeGuardedFetch({ namedHosts: new Set(['127.0.0.1']), maxBytes: 1000 })
    const server = createTcpServer(() => {}).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const init = { signal: AbortSignal.timeout(50) }
    expect(await fetch(`http://127.0.0.1:${port}/`, init).catch(({ name }: Error) => name)).to.equal('TimeoutError')
    server.close()
  })

  it('closes the connection of a body that is given up before it is read', async () => {
    await using fetch = makeGuardedFetch({ namedHosts: new Set(['127.0.0.1']), maxBytes: 0 })
    for (const body of ['ok', undefined]) {
      const http = createServer((_, response) => (body === undefined ? response.flushHeaders() : response.end(body)))
      await once(http.listen(0, '127.0.0.1'), 'listening')
      const connected = once(http, 'connection')
      const { body: answer } = await fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`)
      const [socket]: Socket[] = await connected
      await Promise.all([answer?.cancel(), socket?.destroyed ? undefined : once(socket as Socket, 'close')])
      http.close()
    }
  })

  describe('of names', () => {
    const { lookup } = dns
    const seen: (string | undefined)[] = []
    let http: Server
    let url: string
    before(async () => {
      http = createServer((request, response) => {
        seen.push(request.url)
        if (request.url === '/last') response.setHeader('connection', 'close')
        response.end('private')
      }).listen(0, '127.0.0.1')
      await once(http, 'listening')
      url = `http://api.example:${(http.address() as AddressInfo).port}`
    })
    afterEach(() => {
      seen.length = 0
      setLookup(lookup)
    })
    after(() => http.close())

    function setLookup(next: unknown): void {
      Object.assign(dns, { lookup: next })
      syncBuiltinESMExports()
    }

    /** Has the name resolved to these addresses, and to the last of them later on. @returns the number of resolutions */
    function resolveTo(...answers: string[][]): () => number {
      let asked = 0
      setLookup((_host: string, _options: object, callback: (error: null, found: object[]) => void) => {
        const addresses = answers[Math.min(asked++, answers.length - 1)] ?? []
        callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        )
      })
      return () => asked
    }

    const guarded = (...named: string[]) => makeGuardedFetch({ namedHosts: new Set(named), maxBytes: 1000 })
    const said = (fetching: Promise<Response>) => fetching.then((reply) => reply.text()).catch(messageOf)

    it('connects to the very addresses that were checked, and checks those of each connection', async () => {
      const asked = resolveTo(['127.0.0.1'])
      await using fetch = guarded('api.example')
      expect(await said(fetch(`${url}/last`))).to.equal('private')
      expect(asked()).to.equal(1)
      expect(await said(fetch(`${url}/last`))).to.equal('private')
      expect(asked()).to.equal(2)
    })

    it('refuses a private address among public ones, and one that comes later', async () => {
      await using fetch = guarded()
      resolveTo(['8.8.8.8', '127.0.0.1'])
      expect(await said(fetch(url))).to.match(/^api\.example has the address 127\.0\.0\.1, which is not public/)
      resolveTo(['::ffff:127.0.0.1'])
      expect(await said(fetch(url))).to.match(/^api\.example has the address ::ffff:127\.0\.0\.1, which is not/)
      const { connect } = Socket.prototype
      try {
        // The first connection is let through, and fails before it leaves the machine.
        Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
          Object.assign(this, { connecting: true })
          const [{ lookup: resolve }] = (Array.isArray(args[0]) ? args[0] : args) as [{ lookup: LookupFunction }]
          resolve('api.example', { all: true }, (error) =>
            setImmediate(() => this.destroy(error ?? new Error('let through'))),
          )
          return this
        }
        resolveTo(['8.8.8.8'], ['10.0.0.1'])
        expect(await said(fetch(url))).to.equal('let through')
        expect(await said(fetch(url))).to.match(/^api\.example has the address 10\.0\.0\.1, which is not public/)
      } finally {
        Socket.prototype.connect = connect
      }
      expect(seen).to.deep.equal([])
    })
  })
})

describe('fetchWithinOrigin', () => {
  const seen: string[] = []
  const servers: Server[] = []
  afterEach(() => {
    seen.length = 0
    for (const server of servers.splice(0)) server.close()
  })

  async function listen(status: number, location: string): Promise<string> {
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      seen.push(`${request.method} ${request.url} ${request.headers['x-key']} ${body}`)
      response.writeHead(request.url === '/end' ? 200 : status, { location, connection: 'close' }).end()
    }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const post = { method: 'POST', body: 'hi', headers: { 'x-key': 'secret' } }
  const said = (url: string) => fetchWithinOrigin(url, post).then(({ status }) => `status ${status}`, messageOf)

  for (const status of [301, 302, 303, 307, 308]) {
    it(`sends nothing to another origin, and names it (${status})`, async () => {
      const other = await listen(200, '/')
      const url = await listen(status, `${other}/end?key=x`)
      expect(await said(`${url}/`)).to.equal(`the server redirects to ${other}, which is not followed (${status})`)
      expect(seen).to.deep.equal(['POST / secret hi'])
    })
  }

  it('follows redirects within the origin that keep the method', async () => {
    for (const status of [307, 308]) expect(await said(await listen(status, '/end'))).to.equal('status 200')
    expect(seen).to.deep.equal(Array(2).fill(['POST / secret hi', 'POST /end secret hi']).flat())
    expect(await said(await listen(302, '/end'))).to.match(/ redirects to http:.* not followed \(302\)$/)
  })

  it('ends where redirects lead in a circle, or nowhere', async () => {
    expect(await said(await listen(307, '/'))).to.equal('status 307')
    expect(seen).to.have.lengthOf(6)
    expect(await said(await listen(307, 'http://'))).to.equal('status 307')
  })
})
