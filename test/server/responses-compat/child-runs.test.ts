import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { logSteps } from '../../../src/assembly/step-log.ts'
import { silentLog } from '../../../src/protocols/log.ts'
import { eventually } from '../../support/eventually.ts'
import type { Json } from '../../support/responses.ts'
import { closeServers, makeServer } from '../../support/server.ts'
import { SHOP_MODULES, shopAgent } from '../../support/shop.ts'
import { makeProject, type TempProject } from '../../support/temp-project.ts'

const desk = (id: string, agent: string) => `id: ${id}
modules:
  - { id: team, module: tools/agents, config: { agents: [${agent}] } }
  - { id: main, module: desk, config: { agent: ${agent} } }`

const FILES = {
  ...SHOP_MODULES,
  'agents/shop.yml': shopAgent('shop', '{ name: pay, arguments: { amount: 40 } }'),
  'agents/desk.yml': desk('desk', 'shop'),
  'agents/helper.yml': `id: helper
modules:
  - { id: llm, module: asks-client }
  - { id: main, module: orchestrator/tool-loop }`,
  'agents/front.yml': desk('front', 'helper'),
  // What they do follows from the conversation alone, so that it is the same on any server.
  'modules/desk.ts': `import { ConversationHistory, defineModule, Response, TextMessageHandler, ToolProvider, Type, many } from 'agent-host'
export default defineModule({ name: 'Desk', provides: [TextMessageHandler], config: Type.Object({ agent: Type.String() }),
  uses: { tools: many(ToolProvider), history: ConversationHistory, response: Response },
  create: ({ tools: [team], history, response }, { agent }) => ({ async handleText(message, run) {
    const done = (await history.getHistory()).findLast(({ role }) => role === 'tool')
    if (done) return void (await response.respondText('The agent says: ' + done.content))
    await team.executeTool(agent, { message }, run.with({ toolCallId: 'call_1' })) } }) })`,
  'modules/asks-client.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'AsksClient', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const done = messages.filter(({ role }) => role === 'tool')
    if (done.length > 0) yield { type: 'text', text: 'It is ' + done.map(({ content }) => content).join(', ') }
    else for (const city of ['Lima', 'Oslo']) yield { type: 'tool_call', call: { id: city, name: 'weather', arguments: { city } } }
    yield { type: 'finish', reason: done.length > 0 ? 'stop' : 'tool_calls' }
  } }) })`,
}
const WEATHER = { type: 'function', name: 'weather', description: 'Of a city', parameters: { type: 'object' } }

describe('child runs of stored responses', () => {
  afterEach(closeServers)

  async function serve(project: TempProject) {
    const { app, host } = await makeServer({ adapters: ['ResponsesCompatApiAdapter'], projectDir: project.dir })
    const request = async (method: 'GET' | 'POST', path: string, payload?: object): Promise<Json> =>
      (await app.inject({ method, url: `/compat${path}`, ...(payload ? { payload } : {}) })).json()
    const ended = async (id: string) => {
      await eventually(async () => expect((await request('GET', `/responses/${id}`)).status).to.equal('completed'))
      return request('GET', `/responses/${id}`)
    }
    return { app, host, request, ended }
  }

  it('wait across a restart: the decision continues parent and child, and pays once', async () => {
    const project = await makeProject(FILES)
    const before = await serve(project)
    const waiting = await before.request('POST', '/responses', { model: 'desk', input: 'please' })
    expect(waiting.status).to.equal('completed')
    await before.app.close()
    const { request, ended } = await serve(project)
    const [approval] = (await request('GET', '/approvals')).data
    const asked = { agent: 'shop', asked_by: ['desk'], name: 'pay', arguments: { amount: 40 }, status: 'pending' }
    expect(approval).to.deep.include(asked)
    expect(approval.run_id).to.match(/^[\da-f-]{36}$/)
    expect(waiting.id).not.to.contain(approval.run_id)
    const { continued_by: next } = await request('POST', `/approvals/${approval.id}`, { decision: 'approve' })
    expect(JSON.stringify((await ended(next)).output)).to.contain('The agent says: Results: pay 40')
    expect(await readFile(project.path('paid.txt'), 'utf8')).to.equal('pay 40\n')
  })

  it('name the whole way to the agent whose call waits', async () => {
    const lines: string[] = []
    const project = await makeProject({ ...FILES, 'agents/hall.yml': desk('hall', 'desk') })
    const { request, host } = await serve(project)
    logSteps(host, { ...silentLog, info: (line) => void lines.push(line) }, (text) => text)
    await request('POST', '/responses', { model: 'hall', input: 'please' })
    const [{ agent, asked_by }] = (await request('GET', '/approvals')).data
    expect({ agent, asked_by }).to.deep.equal({ agent: 'shop', asked_by: ['desk', 'hall'] })
    expect(lines).to.deep.equal([
      'shop (asked by desk, asked by hall)  pay({"amount":40}) waits for a person. Decide with: agent-host approvals',
    ])
  })

  it('keep waiting when they are decided while their agent is gone', async () => {
    const project = await makeProject(FILES)
    const { request, ended, host } = await serve(project)
    await request('POST', '/responses', { model: 'desk', input: 'please' })
    const [{ id }] = (await request('GET', '/approvals')).data
    host.unregister('shop')
    const { detail } = await request('POST', `/approvals/${id}`, { decision: 'approve' })
    expect(detail).to.equal('model not found')
    expect((await request('GET', '/approvals')).data[0]).to.include({ id, status: 'pending' })
    await host.register(FILES['agents/shop.yml'])
    const { continued_by: next } = await request('POST', `/approvals/${id}`, { decision: 'approve' })
    expect(JSON.stringify((await ended(next)).output)).to.contain('The agent says: Results: pay 40')
    expect(await readFile(project.path('paid.txt'), 'utf8')).to.equal('pay 40\n')
  })

  describe('that call tools of the client', () => {
    async function ask() {
      const { request } = await serve(await makeProject(FILES))
      const waiting = await request('POST', '/responses', { model: 'front', input: 'weather?', tools: [WEATHER] })
      const calls = waiting.output.filter(({ type }: Json) => type === 'function_call')
      const outputs = calls.map(({ call_id, arguments: args }: Json) => {
        return { type: 'function_call_output', call_id, output: `sunny in ${JSON.parse(args).city}` }
      })
      const go = (input: Json[]) => {
        const body = { model: 'front', input, tools: [WEATHER], previous_response_id: waiting.id }
        return request('POST', '/responses', body)
      }
      return { calls, outputs, go }
    }

    it('get the outputs of all at once', async () => {
      const { calls, outputs, go } = await ask()
      expect(calls.map((call: Json) => call.arguments)).to.deep.equal(['{"city":"Lima"}', '{"city":"Oslo"}'])
      expect(calls[0].call_id).to.match(/^[\w-]{1,64}$/)
      expect(JSON.stringify((await go(outputs)).output)).to.contain(
        'The agent says: It is sunny in Lima, sunny in Oslo',
      )
    })

    it('keep waiting for an output that is missing', async () => {
      const { calls, outputs, go } = await ask()
      const next = await go(outputs.slice(0, 1))
      const open = next.output.filter(({ type }: Json) => type === 'function_call')
      expect(open.map((call: Json) => call.call_id)).to.deep.equal([calls[1].call_id])
    })

    it('do not go on when a message comes with the outputs', async () => {
      const { outputs, go } = await ask()
      const { output } = await go([...outputs, { role: 'user', content: 'never mind' }])
      expect(JSON.stringify(output)).to.contain("The agent says: The call of 'weather' was not executed")
    })
  })
})
