import { Readable } from 'node:stream'
import { expect } from 'chai'
import fastify, { type FastifyInstance } from 'fastify'
import { type Deferred, deferred } from '../../../src/async.ts'
import type { ByteLimits } from '../../../src/server/bodies/byte-budget.ts'
import { limitParsedBytes } from '../../../src/server/bodies/limit-parsed-bytes.ts'
import { eventually } from '../../support/eventually.ts'
import { openSocket, type SocketClient } from '../../support/response-socket.ts'
import { HEADERS, startResponses } from '../../support/responses-process.ts'
import { killRunning } from '../../support/run-cli.ts'
import { makeProject } from '../../support/temp-project.ts'

const KIB = 1024
const MIB = 1024 * KIB
const SLOW = {
  'agents/slow.yml': 'id: slow\nmodules: [{ id: main, module: slow }]',
  'modules/slow.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
import { setTimeout } from 'node:timers/promises'
export default defineModule({ name: 'Slow', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text, { signal }) {
    await setTimeout(text === 'hang' ? 60_000 : text.trim().length > 1 ? 1000 : 0, undefined, { signal })
    await response.respondText('done')
  } }) })`,
}

describe('limitParsedBytes', () => {
  const apps: FastifyInstance[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })
  afterEach(killRunning)

  async function open(limits: ByteLimits) {
    const app = fastify({ bodyLimit: MIB, forceCloseConnections: true })
    apps.push(app)
    limitParsedBytes(app, limits)
    /** Requests that have their body, and wait for their answer. */
    const begun: Deferred<string>[] = []
    app.post('/', () => {
      const answer = deferred<string>()
      begun.push(answer)
      return answer.promise
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const send = (bytes: number, signal?: AbortSignal, isChunked = false) => {
      const body = isChunked ? Readable.toWeb(Readable.from([text(bytes)])) : text(bytes)
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body, duplex: 'half', signal: signal ?? null } as RequestInit
      return fetch(url, init).then(
        ({ status }) => status,
        (error: Error) => error.name,
      )
    }
    const waitForBegun = (count: number) => eventually(() => expect(begun).to.have.length(count))
    return { begun, send, waitForBegun }
  }

  for (const isChunked of [false, true]) {
    it(`reads a large body when others have their answer${isChunked ? ', of unknown length too' : ''}`, async () => {
      const { begun, send, waitForBegun } = await open({ maxBytes: 2 * MIB })
      const bytes = isChunked ? 300 * KIB : 900 * KIB
      const large = [1, 2, 3, 4].map(() => send(bytes, undefined, isChunked))
      await waitForBegun(2)
      const small = send(100 * KIB, undefined, isChunked)
      await waitForBegun(3)
      begun[2]?.resolve('small')
      expect(await small).to.equal(200)
      begun[0]?.resolve('large')
      await waitForBegun(4)
      for (const answer of begun) answer.resolve('')
      await waitForBegun(5)
      for (const answer of begun) answer.resolve('')
      expect(await Promise.all(large)).to.deep.equal([200, 200, 200, 200])
    })
  }

  it('forgets clients that leave, and always reads a single body', async () => {
    const { begun, send, waitForBegun } = await open({ maxBytes: KIB })
    const leaving = new AbortController()
    const first = send(900 * KIB, leaving.signal)
    await waitForBegun(1)
    const waiting = send(900 * KIB, leaving.signal)
    const last = send(900 * KIB)
    leaving.abort()
    expect(await Promise.all([first, waiting])).to.deep.equal(['AbortError', 'AbortError'])
    await waitForBegun(2)
    begun[1]?.resolve('')
    expect(await last).to.equal(200)
  })

  it('rejects a body that waits for too long', async () => {
    const { begun, send, waitForBegun } = await open({ maxBytes: KIB, waitMs: 50 })
    const first = send(900 * KIB)
    await waitForBegun(1)
    expect(await send(900 * KIB)).to.equal(503)
    begun[0]?.resolve('')
    expect(await first).to.equal(200)
    const next = send(900 * KIB)
    await waitForBegun(2)
    begun[1]?.resolve('')
    expect(await next).to.equal(200)
  })

  it('keeps a server with a heap of 96 MB alive that gets four responses of 3 MB at once', async () => {
    const { dir } = await makeProject({ 'agents/echo.yml': 'id: echo\nmodules:\n  - { id: main, module: echo }\n' })
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    const send = () => server.ask('', { model: 'echo', input: 'x'.repeat(3 * MIB) })
    const replies = await Promise.all([send(), send(), send(), send()])
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
  })

  it('keeps a server with a heap of 96 MB alive that gets a message of 3 MB over each of 30 WebSockets', async () => {
    const { dir } = await makeProject(SLOW)
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    const open = () => openSocket(new URL(server.url).origin, HEADERS)
    const sockets = await Promise.all(Array.from({ length: 30 }, open))
    const ask = ({ ask }: SocketClient, input: string) => ask({ model: 'slow', store: false, input })
    const ends = await Promise.all(sockets.map((socket) => ask(socket, 'x'.repeat(3 * MIB))))
    const seen = new Set(ends.map((events) => events.at(-1)).map((end) => end?.status ?? end?.type ?? 'disconnected'))
    expect([...seen].sort()).to.deep.equal([503, 'response.completed'])
    for (const socket of sockets) expect((await ask(socket, 'x')).at(-1)?.type).to.equal('response.completed')
    for (const { socket } of sockets) socket.close()
  })

  it('keeps a server with a heap of 96 MB alive whose WebSockets can continue a response of 3 MB each', async () => {
    const { dir } = await makeProject(SLOW)
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    for (let count = 0; count < 40; count++) {
      const { ask } = await openSocket(new URL(server.url).origin, HEADERS)
      const input = ' '.repeat(3 * MIB)
      expect((await ask({ model: 'slow', store: false, input })).at(-1)?.type, `${count}`).to.equal(
        'response.completed',
      )
    }
  })

  it('counts messages that wait for their turn on a WebSocket, until it is closed', async () => {
    const { dir } = await makeProject(SLOW)
    const server = await startResponses(dir, [], { NODE_OPTIONS: '--max-old-space-size=96' })
    const sockets = await Promise.all([1, 2, 3].map(() => openSocket(new URL(server.url).origin, HEADERS)))
    const large = { model: 'slow', input: 'x'.repeat(3 * MIB) }
    for (const { send, next } of sockets) {
      send({ type: 'response.create', model: 'slow', input: 'hang' })
      for (let event = await next(); event.type !== 'response.in_progress'; ) event = await next()
      send({ type: 'response.create', ...large })
    }
    expect((await server.ask('', large)).status).to.equal(503)
    for (const { socket } of sockets) socket.terminate()
    expect((await server.ask('', large)).status).to.equal(200)
  })
})

function text(bytes: number): string {
  return JSON.stringify('x'.repeat(bytes))
}
