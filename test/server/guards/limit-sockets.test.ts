import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from '../../support/eventually.ts'
import { connectRaw, rawPost } from '../../support/raw-http.ts'
import { chat, closeServers, makeServer } from '../../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'
/** A plain answer of this many KiB. */
const much = (kib: number) => rawPost(COMPLETIONS, chat('probe', `burst ${kib}`))

describe('connections of a server', () => {
  afterEach(closeServers)

  async function open(options: Parameters<typeof makeServer>[0] = {}) {
    const server = await makeServer(options)
    let connections = 0
    server.app.server.on('connection', () => connections++)
    const url = await server.listen()
    const count = () =>
      new Promise<number>((resolve) => server.app.server.getConnections((_error, open) => resolve(open)))
    return { url, count, accepted: () => connections, http: server.app.server }
  }

  it('are closed if a client stops reading a plain answer', async () => {
    const { url, count } = await open({ writeTimeout: 1 })
    const deaf = await connectRaw(url, much(20_000), { reads: false })
    await eventually(async () => expect(await count()).to.equal(1))
    await eventually(async () => expect(await count()).to.equal(0), 6000)
    deaf.socket.destroy()
  })

  it('stay open while a client reads, however slowly, or waits for an agent', async () => {
    const { url } = await open({ writeTimeout: 1 })
    const slow = await connectRaw(url, much(20_000), { reads: false })
    const waiting = await connectRaw(url, rawPost(COMPLETIONS, chat('probe', 'wait 2500')))
    let bytes = 0
    slow.socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      slow.socket.pause()
    })
    const reading = setInterval(() => slow.socket.resume(), 5)
    await eventually(() => expect(bytes).to.be.above(20_000 * 1024), 20_000)
    clearInterval(reading)
    await eventually(() => expect(waiting.received()).to.contain('waited'))
    for (const { socket } of [slow, waiting]) socket.destroy()
  })

  it('buffer a limited amount of unread data: the largest are closed', async () => {
    const { url, count, accepted } = await open({ maxUnsentMb: 16 })
    const deaf = await Promise.all(Array.from({ length: 8 }, () => connectRaw(url, much(15_000), { reads: false })))
    await eventually(() => expect(accepted()).to.equal(8), 10_000)
    await eventually(async () => expect(await count()).to.be.below(4), 10_000)
    for (const { socket } of deaf) socket.destroy()
  })

  it('are closed after the answer to a malformed or slow request', async () => {
    const { url, count, http } = await open()
    const malformed = await connectRaw(url, 'NONSENSE\r\n\r\n')
    await eventually(() => expect(malformed.received()).to.match(/^HTTP\/1.1 400 /))
    await eventually(async () => expect(await count()).to.equal(0))
    expect(http.headersTimeout).to.equal(10_000)
    http.headersTimeout = 500
    const slow = await connectRaw(url, 'GET /compat/models HTTP/1.1\r\nHost: localhost\r\nX-')
    await eventually(() => expect(slow.received()).to.match(/^HTTP\/1.1 408 /), 15_000)
    await eventually(async () => expect(await count()).to.equal(0))
    for (const { socket } of [malformed, slow]) socket.destroy()
  })

  it('are limited in number, overall and per address', async () => {
    for (const limit of [{ maxConnections: 2 }, { maxConnectionsPerAddress: 2 }]) {
      const { url, count } = await open(limit)
      const sockets = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
          await once(socket, 'connect')
          return socket
        }),
      )
      await eventually(async () => expect(await count()).to.equal(2))
      for (const socket of sockets) socket.destroy()
      await eventually(async () => expect(await count()).to.equal(0))
      await wait(10)
      expect((await fetch(`${url}/compat/models`)).status).to.equal(200)
    }
  })
})
