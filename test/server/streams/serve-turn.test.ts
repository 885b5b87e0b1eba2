import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import fastify, { type FastifyInstance } from 'fastify'
import type { HostError } from '../../../src/errors.ts'
import { type AgentHost, START_MADE } from '../../../src/host/host.ts'
import type { Turn } from '../../../src/run/turn.ts'
import { makeAdapterHttp } from '../../../src/server/adapters/adapter-http.ts'
import { EventStreams } from '../../../src/server/streams/event-streams.ts'
import { startTurn, streamAnswer } from '../../../src/server/streams/serve-turn.ts'
import { eventually } from '../../support/eventually.ts'

const OPTIONS = { keepAlive: () => ': keep-alive\n\n', keepAliveMs: 10_000 }

describe('serving a turn', () => {
  let app: FastifyInstance
  const aborted: string[] = []
  const host = {
    [START_MADE]: () => ({
      id: '1',
      result: new Promise(() => {}),
      abort: (reason: Error) => aborted.push(reason.message),
    }),
  } as unknown as AgentHost

  beforeEach(() => {
    aborted.length = 0
    app = fastify()
  })

  afterEach(() => app.close())

  /** Sends a request, and leaves when `until` is settled. */
  async function askAndLeave(until: Promise<unknown>): Promise<void> {
    await app.listen({ port: 0 })
    const { port } = app.server.address() as { port: number }
    const socket = connect(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await until
    socket.destroy()
  }

  it('refuses a turn of another kind that an adapter made from a body', async () => {
    const parts = { streams: new EventStreams(), describeFailure: String, requiresKey: false, servesInbox: false }
    const http = makeAdapterHttp({ host, ...parts })
    app.post<{ Body: Turn }>('/', async ({ body }, reply) => ({ id: http.startTurn(reply, 'talk', body).id }))
    app.setErrorHandler<HostError>(({ code }, _request, reply) => reply.send({ code }))
    const ask = async (payload: object) => (await app.inject({ method: 'POST', url: '/', payload })).json()
    for (const wrong of [
      { messages: [{ role: 'user', content: 5 }] },
      { messages: [], answers: [{ callId: 'c', kind: 'any' }] },
      { messages: [], user: {} },
    ])
      expect(await ask(wrong)).to.deep.equal({ code: 'REQUEST_INVALID' })
    expect(await ask({ messages: [{ role: 'user', content: '5' }] })).to.deep.equal({ id: '1' })
  })

  it('aborts the run when the client disconnects', async () => {
    let onStart = () => {}
    const started = new Promise<void>((resolve) => {
      onStart = resolve
    })
    app.get('/', (_request, reply) => {
      startTurn(reply, host, 'talk', { messages: [] })
      onStart()
      return new Promise(() => {})
    })
    await askAndLeave(started)
    await eventually(() => expect(aborted).to.deep.equal(['The client has left.']))
  })

  it('aborts it at once if the client disconnected before it started', async () => {
    let onArrive = () => {}
    const arrived = new Promise<void>((resolve) => {
      onArrive = resolve
    })
    app.get('/', async (_request, reply) => {
      onArrive()
      await once(reply.raw, 'close')
      startTurn(reply, host, 'talk', { messages: [] })
      return reply
    })
    await askAndLeave(arrived)
    await eventually(() => expect(aborted).to.deep.equal(['The client has left.']))
  })

  it('ends a stream with a last frame if its answer fails after the headers', async () => {
    const streams = new EventStreams()
    app.get('/', (request, reply) =>
      streamAnswer(request, reply, streams, {
        ...OPTIONS,
        send: async (stream) => {
          stream.send('data: begun\n\n')
          throw new Error('broken')
        },
        failure: (error) => `data: ${(error as Error).message}\n\n`,
      }),
    )
    const reply = await app.inject('/')
    expect([reply.statusCode, reply.body]).to.deep.equal([200, 'data: begun\n\ndata: broken\n\n'])
    expect(streams.size).to.equal(0)
  })
})
