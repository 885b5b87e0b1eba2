import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { WebSocketServer } from 'ws'
import {
  openUnstoredMemory,
  UnstoredResponses,
} from '../../../src/server/adapters/responses-compat/runs/unstored-responses.ts'
import { limitMessageTime } from '../../../src/server/guards/limit-message-time.ts'
import { eventually } from '../../support/eventually.ts'
import { connectRaw, rawPost } from '../../support/raw-http.ts'
import {
  BINARY,
  CONTINUATION,
  closeCodeOf,
  frame,
  openRawWebSocket,
  PING,
  TEXT,
  upgradeRequest,
} from '../../support/raw-web-socket.ts'
import { openSocket } from '../../support/response-socket.ts'
import { type Json, makeResponses, talkState } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const talk = (input: unknown, more: object = {}) => ({ type: 'response.create', model: 'talk', input, ...more })

/** Number of open connections. */
function countOf({ server }: { server: Server }): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
}

describe('a hostile client of the WebSocket', () => {
  afterEach(closeServers)

  it('is closed with the right code on protocol violations and excess', async () => {
    const server = await makeResponses({ bodyLimit: 2000 })
    const url = await server.listen()
    const codeFor = async (...frames: Buffer[]) => {
      const connection = await openRawWebSocket(url)
      connection.socket.write(Buffer.concat(frames))
      await eventually(() => expect(closeCodeOf(connection)).to.be.a('number'))
      connection.socket.destroy()
      return closeCodeOf(connection)
    }
    const part = frame(CONTINUATION, 'x', { isLast: false })
    expect(await codeFor(frame(TEXT, '{}', { isMasked: false })), 'no mask').to.equal(1002)
    expect(await codeFor(frame(TEXT, '{}', { reserved: 4 })), 'compressed').to.equal(1002)
    expect(await codeFor(frame(0x3, '{}')), 'unknown opcode').to.equal(1002)
    expect(await codeFor(frame(PING, 'x', { isLast: false })), 'fragmented ping').to.equal(1002)
    expect(await codeFor(frame(CONTINUATION, 'x')), 'nothing to continue').to.equal(1002)
    expect(await codeFor(frame(TEXT, Buffer.from([0xc3, 0x28]))), 'no UTF-8').to.equal(1007)
    expect(await codeFor(frame(TEXT, '', { claimedLength: 2 ** 40 })), 'huge claim').to.equal(1009)
    expect(await codeFor(frame(TEXT, 'x', { isLast: false }), ...Array(2000).fill(part)), 'endless parts').to.equal(
      1009,
    )
    const empty = frame(CONTINUATION, '', { isLast: false })
    expect(await codeFor(frame(TEXT, '', { isLast: false }), ...Array(20_000).fill(empty)), 'empty parts').to.equal(
      1008,
    )
    const offer = { 'Sec-WebSocket-Extensions': 'permessage-deflate' }
    expect((await openRawWebSocket(url, offer)).received().toLowerCase()).to.not.include('permessage-deflate')
  })

  it('is disconnected if a message does not arrive in time, despite pings', async () => {
    const http = createServer()
    const sockets = new WebSocketServer({ server: http })
    sockets.on('connection', (socket, request) => limitMessageTime(socket, request.socket, 150))
    http.listen(0, '127.0.0.1')
    await once(http, 'listening')
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    try {
      const [slow, idle, quick] = [
        await openRawWebSocket(url),
        await openRawWebSocket(url),
        await openRawWebSocket(url),
      ]
      const startedMs = performance.now()
      const pings = setInterval(() => {
        for (const { socket } of [slow, idle]) socket.write(frame(PING, 'still here'))
        quick.socket.write(frame(TEXT, '{}'))
      }, 20)
      slow.socket.write(frame(TEXT, 'x', { isLast: false }))
      await slow.closed
      expect(performance.now() - startedMs).to.be.at.least(140)
      await wait(200)
      clearInterval(pings)
      expect([idle.socket.closed, quick.socket.closed]).to.deep.equal([false, false])
      for (const { socket } of [idle, quick]) socket.destroy()
    } finally {
      sockets.close()
      http.close()
    }
  })

  it('cannot pile up answers to pings or rejected messages', async () => {
    const server = await makeResponses()
    const url = await server.listen()
    const sockets: Socket[] = []
    server.app.server.on('connection', (socket) => sockets.push(socket))
    const pinging = await openRawWebSocket(url)
    pinging.socket.pause()
    const pings = Buffer.concat(Array(2000).fill(frame(PING, 'x'.repeat(125))))
    for (let n = 0; n < 80; n++) pinging.socket.write(pings)
    await eventually(() => expect(pinging.socket.writableLength).to.equal(0), 15_000)
    expect(sockets[0]?.writableLength).to.be.lessThan(1024 * 1024)
    const wrong = await openRawWebSocket(url)
    wrong.socket.pause()
    const binary = Buffer.concat(Array(2000).fill(frame(BINARY, 'x')))
    for (let n = 0; n < 40; n++) wrong.socket.write(binary)
    await eventually(() => expect(sockets[1]?.destroyed).to.equal(true))
    for (const { socket } of [pinging, wrong]) socket.destroy()
    const { ask } = await openSocket(url)
    expect((await ask(talk('say a'))).at(-1).type).to.equal('response.completed')
  })

  it('gets a large answer and the next one as fast as it reads them', async () => {
    const { send, next } = await openSocket(await (await makeResponses()).listen())
    send(talk('flood 2000', { store: false }))
    send(talk('say a', { store: false }))
    const ends: Json[] = []
    while (ends.length < 2) {
      const event = await next()
      if (event.type === 'error' || event.type === 'response.completed') ends.push(event)
    }
    expect(ends.map(({ type }) => type)).to.deep.equal(['response.completed', 'response.completed'])
  })

  it('may queue messages up to the size of one request', async () => {
    const { send, next } = await openSocket(await (await makeResponses({ bodyLimit: 4000 })).listen())
    const before = talkState().runs
    send(talk('hang'))
    await eventually(() => expect(talkState().runs).to.equal(before + 1))
    for (let n = 0; n < 3; n++) send(talk('x'.repeat(1500)))
    let event = await next()
    while (event.type !== 'error') event = await next()
    expect([event.status, event.error.message]).to.deep.equal([
      503,
      'More than 16 messages, or 4000 bytes, wait for the response in progress',
    ])
  })

  it('drops unstored responses, the least recently used first, when all connections hold too much, and on close', async () => {
    const memory = openUnstoredMemory({ maxItems: 100, maxBytes: 20_000 })
    const run = (id: string): Json => ({ id, outcome: { messages: [], pending: [] }, settled: Promise.resolve([]) })
    const draft = (text: string): Json => ({
      makeTurn: () => ({ conversation_data: { messages: [] } }),
      items: [text],
      earlier: [],
    })
    const [one, other] = [new UnstoredResponses(memory), new UnstoredResponses(memory)]
    const budget: Json = { addItems: () => {} }
    one.add(run('a'), draft('x'.repeat(4000)))
    other.add(run('b'), draft('x'.repeat(4000)))
    expect([one.read('a', budget), other.read('a', budget)].map(Boolean)).to.deep.equal([true, false])
    other.add(run('c'), draft('x'.repeat(4000)))
    // The first was read since the second was added.
    expect([one.read('a', budget), other.read('b', budget), other.read('c', budget)].map(Boolean)).to.deep.equal([
      true,
      false,
      true,
    ])
    other.clear()
    await wait(1)
    expect([...memory].map(([id]) => id)).to.deep.equal(['a'])
  })

  it('cannot upgrade during a pending answer: only its connection is closed', async () => {
    const server = await makeResponses()
    const url = await server.listen()
    const failures: unknown[] = []
    const note = (error: unknown) => failures.push(error)
    process.prependListener('uncaughtException', note)
    try {
      for (const upgrade of [upgradeRequest(), upgradeRequest({ Upgrade: 'h2c' }, '/healthz')]) {
        const { aborted } = talkState()
        const request = rawPost('/compat/responses', { model: 'talk', input: 'hang' })
        const { socket } = await connectRaw(url, request + upgrade)
        await eventually(() => expect(talkState().aborted).to.equal(aborted + 1))
        await eventually(async () => expect(await countOf(server.app)).to.equal(0))
        socket.destroy()
      }
    } finally {
      process.removeListener('uncaughtException', note)
    }
    expect(failures).to.deep.equal([])
    expect((await server.create('say a')).status).to.equal('completed')
  })

  it('is disconnected if it does not read a plain answer to an upgrade', async () => {
    const server = await makeResponses({ writeTimeout: 1 })
    const url = await server.listen()
    const { id } = await server.create('flood 9000')
    const connection = await connectRaw(url, upgradeRequest({}, `/v1/responses/${id}`), { reads: false })
    await eventually(async () => expect(await countOf(server.app)).to.equal(1))
    await eventually(async () => expect(await countOf(server.app)).to.equal(0), 8000)
    connection.socket.destroy()
  })
})
