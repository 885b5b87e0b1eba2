// Every way to begin a run, refused for every reason: the client reads why, nothing begins or stays, and the same request begins it afterwards.
// Decisions, which continue a run, have a suite of their own: resumption.test.ts.
import { expect } from 'chai'
import type { Reservation } from '../../src/host/reservation.ts'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { RecordStore } from '../../src/store/record-store.ts'
import { eventually } from '../support/eventually.ts'
import { ask } from '../support/graphql.ts'
import { openSocket } from '../support/response-socket.ts'
import type { Json } from '../support/responses.ts'
import { AGENTS } from '../support/server.ts'
import { untilTaped } from '../support/tapes.ts'
import { makeSharedProject, removeFolder, type TempProject } from '../support/temp-project.ts'

const AGENT = 'model'
const FILE = 'agents/model.yml'
const VARIANT = [{ module: 'loop', path: ['system_prompt'], value: 'Be brief.' }]
const MAX_RUNS = 3
const MAX_QUEUED = 2

interface Place extends BuiltServer {
  readonly project: TempProject
  readonly url: string
  readonly records: RecordStore
  /** A run with a tape, and its call of the model. */
  readonly taped: { readonly runId: string; readonly callId: string }
}

/** Gives the reason of a refusal; undefined when the run began. */
type Begin = (place: Place) => Promise<string | undefined>

interface Way {
  readonly name: string
  /** It takes a place in the queue, not a slot. */
  readonly isQueued?: boolean
  readonly begin: Begin
}

const post = async ({ url }: Place, path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
  const reply = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  })
  const text = await reply.text()
  return reply.ok && !text.includes('"error":{') && !text.includes('"isError":true') ? undefined : text
}
const chat =
  (more: object): Begin =>
  (place) =>
    post(place, '/v1/chat/completions', { model: AGENT, messages: [{ role: 'user', content: 'hi' }], ...more })
const respond =
  (more: object): Begin =>
  (place) =>
    post(place, '/v1/responses', { model: AGENT, input: 'hi', ...more })
const callTool = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
const messageOf = ({ message }: Error) => message
const begun = () => undefined

const WAYS: readonly Way[] = [
  { name: 'chat, JSON', begin: chat({}) },
  { name: 'chat, streamed', begin: chat({ stream: true }) },
  { name: 'responses, JSON', begin: respond({}) },
  { name: 'responses, streamed', begin: respond({ stream: true }) },
  { name: 'responses, not stored', begin: respond({ store: false }) },
  { name: 'responses, background', isQueued: true, begin: respond({ background: true }) },
  {
    name: 'responses, WebSocket',
    async begin({ url }) {
      const { ask, socket } = await openSocket(url)
      const last = (await ask({ model: AGENT, input: 'hi' })).at(-1)
      socket.close()
      return last?.type === 'response.completed' ? undefined : JSON.stringify(last)
    },
  },
  {
    name: 'MCP 2025-11-25',
    begin: (place) => {
      const headers = { 'mcp-protocol-version': '2025-11-25' }
      return post(place, '/mcp', { ...callTool, params: { name: AGENT, arguments: { message: 'hi' } } }, headers)
    },
  },
  {
    name: 'MCP 2026-07-28',
    begin: (place) => {
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': AGENT }
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const params = { name: AGENT, arguments: { message: 'hi' }, _meta: meta }
      return post(place, '/mcp', { ...callTool, params }, headers)
    },
  },
  { name: 'a program', begin: ({ host }) => host.run(AGENT, 'hi').then(begun, messageOf) },
  {
    name: 'a program, with a variant',
    begin: ({ host }) => host.run(AGENT, 'hi', { variant: VARIANT }).then(begun, messageOf),
  },
  {
    name: 'the page, a rerun',
    begin: (place) => {
      const { runId, callId } = place.taped
      return post(place, `/api/ui/runs/${runId}/rerun`, { call_id: callId }, { origin: place.url })
    },
  },
]

interface Refusal {
  readonly name: string
  /** What every client reads. */
  readonly reason: RegExp
  readonly isOf: (way: Way) => boolean
  /** Brings it about. Returns a function that ends it. */
  readonly bring: (place: Place) => Promise<() => Promise<unknown>>
}

const REFUSALS: readonly Refusal[] = [
  {
    name: 'all slots are taken',
    reason: /All slots for runs are taken \(limit: 3\)/,
    isOf: ({ isQueued }) => !isQueued,
    async bring({ host }) {
      const taken: Reservation[] = Array.from({ length: MAX_RUNS }, () => host.reserve(AGENT, false))
      return async () => {
        for (const { release } of taken) release()
      }
    },
  },
  {
    name: 'the queue is full',
    reason: /queue of background runs is full/,
    isOf: ({ isQueued }) => isQueued === true,
    async bring({ records }) {
      const mark = JSON.stringify({ agent: 'none', attempts: 0, sinceMs: Date.now() })
      const keys = Array.from({ length: MAX_QUEUED }, (_, n) => `queued:resp_${n}`)
      await records.commit(keys.map((key) => [key, mark] as const))
      // The size of the queue is known for a second.
      await new Promise((resolve) => setTimeout(resolve, 1100))
      return async () => {
        await records.commit(keys.map((key) => [key, undefined] as const))
        await new Promise((resolve) => setTimeout(resolve, 1100))
      }
    },
  },
  {
    name: 'the agent is gone',
    reason: /There is no agent 'model'|model not found/,
    isOf: () => true,
    async bring({ host, project }) {
      host.unregister(AGENT)
      const text = await project.read(FILE)
      return () => host.register(text, { file: project.path(FILE) })
    },
  },
]

describe('a start that is refused', () => {
  let place: Place

  before(async () => {
    const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter']
    const limits = { maxConcurrentRuns: MAX_RUNS, maxQueuedRuns: MAX_QUEUED }
    const project = await makeSharedProject(AGENTS)
    const page = { debug: true, development: true, record: 1 }
    const options = { projectDir: project.dir, port: 0, logLevel: 'silent', drainTimeout: 0 } as const
    const server = await buildServer({ ...options, ...limits, ...page, adapters })
    const { host, listen } = server
    const records = await openStore({ store: 'sqlite', dir: project.path('responses'), projectDir: project.dir })
    const first = await host.run(AGENT, 'hi')
    await untilTaped(project.dir, first.runId)
    const taped = { runId: first.runId, callId: await findCall(server, first.runId) }
    place = { ...server, project, url: await listen(), records, taped }
  })
  after(async () => {
    await place.close()
    await place.records.close()
    await removeFolder(place.project.dir)
  })

  for (const { name, reason, isOf, bring } of REFUSALS) {
    const ways = WAYS.filter(isOf)
    it(`leaves nothing when ${name}, in ${ways.length} ways`, async () => {
      const before = await count(place)
      const end = await bring(place)
      const refused: Record<string, string | undefined> = {}
      for (const way of ways) refused[way.name] = await way.begin(place)
      expect(place.host.runningCount, 'slots').to.equal(name === 'all slots are taken' ? MAX_RUNS : 0)
      await end()
      for (const way of ways) expect(refused[way.name], way.name).to.match(reason)
      expect(await count(place)).to.deep.equal(before)
      for (const way of ways) expect(await way.begin(place), `${way.name}, afterwards`).to.equal(undefined)
      await eventually(async () => {
        expect((await count(place)).runs).to.equal(before.runs + ways.length)
        expect(place.host.runningCount).to.equal(0)
      })
    })
  }

  it('leaves nothing when the server closes, in any way', async () => {
    const before = await count(place)
    await place.host.close(0)
    for (const way of WAYS) {
      expect(await way.begin(place), way.name).to.match(/The server shuts down/)
    }
    expect(await count(place)).to.deep.equal(before)
  })
})

/** Runs that the page lists, and responses in the store. */
async function count(place: Place): Promise<{ runs: number; responses: number }> {
  const { runs } = await ask<Json>(place, '{ runs { total } }')
  return { runs: runs.total, responses: (await place.records.list({ prefix: 'response:', limit: 1000 })).length }
}

async function findCall(server: BuiltServer, runId: string): Promise<string> {
  return eventually(async () => {
    const { run } = await ask<Json>(server, `{ run(run_id: "${runId}") { events { events { call_id method_name } } } }`)
    const call = run?.events.events.find(({ method_name }: Json) => method_name === 'generate')
    expect(call).to.not.equal(undefined)
    return call.call_id
  })
}
