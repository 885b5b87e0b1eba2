import { Readable } from 'node:stream'
import { expect } from 'chai'
import fastify, { type FastifyInstance } from 'fastify'
import { type Deferred, deferred } from '../../../src/async.ts'
import type { ByteLimits } from '../../../src/server/bodies/byte-budget.ts'
import { limitParsedBytes } from '../../../src/server/bodies/limit-parsed-bytes.ts'
import { eventually } from '../../support/eventually.ts'
import { startResponses } from '../../support/responses-process.ts'
import { killRunning } from '../../support/run-cli.ts'
import { makeProject } from '../../support/temp-project.ts'

const KIB = 1024
const MIB = 1024 * KIB

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
})

function text(bytes: number): string {
  return JSON.stringify('x'.repeat(bytes))
}
