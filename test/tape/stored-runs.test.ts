import type { ServerOptions } from 'agent-host'
import { openProject } from 'agent-host'
import { expect } from 'chai'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import { runOfFile } from '../../src/tape/file/tape-folder.ts'
import { SHOP } from '../support/counting-shop.ts'
import { eventually } from '../support/eventually.ts'
import { ask } from '../support/graphql.ts'
import type { Json } from '../support/responses.ts'
import { listTapes } from '../support/tapes.ts'
import { makeProject } from '../support/temp-project.ts'

const calls = (id: string, agent: string) => `id: ${id}
modules:
  - { id: team, module: tools/agents, config: { agents: [${agent}] } }
  - { id: main, module: caller, config: { agent: ${agent} } }`

const FILES = {
  ...SHOP,
  'agents/shop.yml': SHOP['agents/shop.yml'].replace('Be kind.', 'Refund.'),
  'agents/boss.yml': calls('boss', 'lead'),
  'agents/lead.yml': calls('lead', 'echo'),
  'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]',
  'modules/caller.ts': `import { defineModule, Response, TextMessageHandler, ToolProvider, Type } from 'agent-host'
export default defineModule({ name: 'Caller', provides: [TextMessageHandler], config: Type.Object({ agent: Type.String() }),
  uses: { tools: ToolProvider, response: Response },
  create: ({ tools, response }, { agent }) => ({ async handleText(message, run) {
    const { text } = await tools.executeTool(agent, { message }, run.with({ toolCallId: 'call_1' }))
    await response.respondText(text) } }) })`,
}
const ADAPTERS = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter']
const DEV = { adapters: ADAPTERS, debug: true, development: true, record: 1 }
const ASKED = { model: 'shop', messages: [{ role: 'user', content: 'Where is A1?' }] }
const ORIGIN = 'http://localhost:80'

describe('tapes of stored runs', () => {
  let dir: string
  let server: BuiltServer

  beforeEach(async () => {
    dir = (await makeProject(FILES)).dir
    server = await open()
  })
  afterEach(() => server.close())

  const open = (options: Partial<ServerOptions> = DEV) =>
    buildServer({
      ...{ projectDir: dir, agentDir: `${dir}/agents`, responsesDir: `${dir}/responses`, logLevel: 'silent' },
      ...options,
    })
  const post = async (url: string, payload: object): Promise<Json> =>
    (await server.app.inject({ method: 'POST', url, payload, headers: { origin: ORIGIN } })).json()
  const taped = () => listTapes(dir).filter((name) => runOfFile(name) !== undefined)
  const untilTaped = (count: number) => eventually(() => expect(taped()).lengthOf(count))
  /** Deletes every response that waits, on any server. */
  async function deleteWaiting({ app }: BuiltServer, count: number): Promise<void> {
    const { data } = (await app.inject('/compat/approvals')).json()
    expect(data).lengthOf(count)
    for (const { response_id } of data) await deleteOn({ app }, response_id)
  }
  async function deleteOn({ app }: Pick<BuiltServer, 'app'>, id: string): Promise<void> {
    expect((await app.inject({ method: 'DELETE', url: `/compat/responses/${id}` })).statusCode).equal(200)
  }
  /** Stops the server, and starts it when another one has done something. */
  async function restart(act: (other: BuiltServer) => Promise<void>): Promise<void> {
    await server.close()
    const other = await open({ adapters: ADAPTERS })
    await act(other)
    await other.close()
    server = await open()
  }

  /** Ways to begin a run that waits, and its tape. */
  const DOORS: Readonly<Record<string, () => Promise<unknown>>> = {
    'a chat': () => post('/compat/chat/completions', ASKED),
    'a call over MCP': () => {
      const params = { name: 'shop', arguments: { message: 'Where is A1?' } }
      return post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    },
    async 'a program'() {
      await server.close()
      const project = await openProject({ projectDir: dir, record: 1, logLevel: 'silent' })
      expect((await project.run('shop', 'Where is A1?')).status).equal('waiting')
      await project.close()
      server = await open()
    },
  }

  for (const [door, begin] of Object.entries(DOORS)) {
    it(`are deleted with the response that ${door} waits as, also while their server does not run`, async () => {
      await begin()
      await untilTaped(1)
      await deleteWaiting(server, 1)
      await untilTaped(0)
      await begin()
      await untilTaped(1)
      await restart((other) => deleteWaiting(other, 1))
      await untilTaped(0)
      await server.close()
      expect(listTapes(dir)).deep.equal(['stored.txt'])
    })
  }

  it('are deleted with the response that a rerun waits as, each with its own', async () => {
    await post('/compat/chat/completions', ASKED)
    await untilTaped(1)
    const [run = ''] = taped().map(runOfFile)
    const query = `{ run(run_id: "${run}") { events { events { event_type call_id method_name } } } }`
    const { events } = (await ask<Json>(server, query)).run.events
    const [, second] = events.filter(
      ({ event_type, method_name }: Json) => event_type === 'call' && method_name === 'generate',
    )
    await post(`/api/ui/runs/${run}/rerun`, { call_id: second.call_id, live: ['llm', 'tools'] })
    await untilTaped(2)
    const waiting = () => server.app.inject('/compat/approvals').then((reply) => reply.json().data)
    const [first, , ...more] = await eventually(async () => {
      const data: Json[] = await waiting()
      expect(data).lengthOf(2)
      return data.sort((a, b) => (a.response_id < b.response_id ? -1 : 1))
    })
    expect(more).deep.equal([])
    await deleteOn(server, first?.response_id)
    await untilTaped(1)
    expect(taped().map(runOfFile)).not.include(run)
    await restart((other) => deleteWaiting(other, 1))
    await untilTaped(0)
  })

  it('are deleted with the response of the run that began theirs, and with no other', async () => {
    const create = async (background: boolean): Promise<string> =>
      (await post('/compat/responses', { model: 'boss', input: 'hello', background })).id
    const [first, second] = [await create(false), await create(false)]
    await untilTaped(6)
    await deleteOn(server, first)
    await untilTaped(3)
    // Stored before its agent begins.
    await create(true).then(async (id) => {
      await untilTaped(6)
      await restart((other) => deleteOn(other, id))
    })
    await untilTaped(3)
    expect(taped().map(runOfFile)).include(second.slice('resp_'.length))
    await deleteOn(server, second)
    await untilTaped(0)
  })
  it('are deleted with their responses by servers that share the folder, whichever has noted them, runs or starts', async () => {
    const [first, second] = [server, await open()]
    const waiting: string[] = []
    for (const each of [first, second, first, second]) {
      server = each
      await post('/compat/chat/completions', ASKED)
      const { data } = (await second.app.inject('/compat/approvals')).json()
      waiting.push(data.map(({ response_id }: Json) => response_id).find((id: string) => !waiting.includes(id)))
    }
    await untilTaped(4)
    const [ofFirst, ofSecond, later, last] = waiting as [string, string, string, string]
    await deleteOn(second, ofFirst)
    await deleteOn(first, ofSecond)
    await untilTaped(2)
    // The lines of the first, too, are those of the third: the second has noted its own.
    await first.close()
    const third = await open()
    await deleteOn(second, later)
    await untilTaped(1)
    await third.close()
    server = second
    await restart((other) => deleteOn(other, last))
    await untilTaped(0)
    await server.close()
    expect(listTapes(dir)).deep.equal(['stored.txt'])
  })
})
