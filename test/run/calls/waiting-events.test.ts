import { type AgentEvent, AgentHost, type RunEnd, type ToolDefinition } from 'agent-host'
import { expect } from 'chai'
import { logSteps } from '../../../src/assembly/step-log.ts'
import { silentLog } from '../../../src/protocols/log.ts'
import { makeProject } from '../../support/temp-project.ts'

const MODULES = {
  'modules/tools.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Tools', provides: [ToolProvider], create: () => ({
  listTools: () => ['refund', 'choose', 'wrap', 'list'].map((name) => ({ name, description: name, parameters: { type: 'object' } })),
  needsApproval: (name) => name === 'refund',
  async executeTool(name, args, run) {
    if (name === 'refund') return { text: 'refunded' }
    if (name === 'list') return { text: 'one\\n\\n  two\\n' }
    const question = { message: 'Which size?', schema: { type: 'number' } }
    if (name === 'choose') return { text: String(await run.ask(question)) }
    return run.ask(question).catch((cause) => { throw new Error('could not ask', { cause }) })
  } }) })`,
  'modules/careless.ts': `import { defineModule, many, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Careless', provides: [TextMessageHandler], uses: { tools: many(ToolProvider) },
  create: ({ tools }) => ({ async handleText(text, run) {
    await tools[0].executeTool('refund', {}, run).catch(() => {})
    throw new TypeError('something else')
  } }) })`,
}
const WEATHER: ToolDefinition = { name: 'weather', description: 'Of a city', parameters: { type: 'object' } }

describe('the events of a run that waits', () => {
  let host: AgentHost
  let events: AgentEvent[]
  let ends: RunEnd[]
  let lines: string[]

  beforeEach(async () => {
    host = new AgentHost({ projectDir: (await makeProject(MODULES)).dir })
    events = []
    ends = []
    lines = []
    host.onEvent((event) => events.push(event))
    host.onRunEnd((end) => ends.push(end))
    const note = (level: string) => (line: string) => lines.push(`${level} ${line}`)
    logSteps(host, { ...silentLog, info: note('info'), warn: note('warn') }, (text) => text)
    await host.register({ id: 'careless', modules: [tools, { id: 'main', module: 'careless' }] })
  })
  afterEach(() => host.close(0))

  const tools = { id: 'tools', module: 'tools' }
  /** Runs an agent whose model calls these tools at once. */
  async function call(...names: string[]) {
    const tool_calls = names.map((name) => ({ id: `c_${name}`, name, arguments: { order: 'A1' } }))
    const llm = { id: 'llm', module: 'llm/mock', config: { replies: [{ tool_calls }] } }
    await host.register({ id: 'desk', modules: [llm, tools, { id: 'loop', module: 'orchestrator/tool-loop' }] })
    return host.run('desk', 'hi', { clientTools: [WEATHER] })
  }
  const resultsOf = (method: string) =>
    events.flatMap(({ event_type, method_name, result }) =>
      event_type === 'result' && method_name === method ? [result] : [],
    )

  for (const [name, kind] of [
    ['refund', 'approval'],
    ['choose', 'question'],
    ['wrap', 'question'],
    ['weather', 'client_tool'],
  ] as const) {
    it(`close with a result that says what it waits for: ${name}`, async () => {
      expect((await call(name)).status).equal('waiting')
      expect(events.filter(({ event_type }) => event_type === 'exception')).deep.equal([])
      const waiting = { waits_for: [{ kind, name, call_id: `c_${name}` }] }
      expect([resultsOf('executeTool'), resultsOf('handleText')]).deep.equal([[waiting], [waiting]])
      const open = new Set<string>()
      for (const { event_type, call_id } of events) {
        if (event_type === 'call') open.add(call_id)
        else expect(open.delete(call_id)).equal(true)
      }
      expect([...open]).deep.equal([])
    })
  }

  it('name for each tool its own call, and for the handler all', async () => {
    await call('refund', 'weather')
    const refund = { kind: 'approval', name: 'refund', call_id: 'c_refund' }
    const weather = { kind: 'client_tool', name: 'weather', call_id: 'c_weather' }
    expect(resultsOf('executeTool')).to.have.deep.members([{ waits_for: [refund] }, { waits_for: [weather] }])
    expect(resultsOf('handleText')).to.have.length(1)
    expect((resultsOf('handleText')[0] as { waits_for: object[] }).waits_for).to.have.deep.members([refund, weather])
  })

  it('show the failure of a handler that fails for another reason', async () => {
    expect((await host.run('careless', 'hi')).status).equal('waiting')
    const thrown = events.flatMap(({ exception, method_name }) => (exception === null ? [] : [method_name]))
    expect(thrown).deep.equal(['handleText'])
  })

  it('are one line of the log for each call, at its end', async () => {
    await call('refund', 'weather', 'choose')
    expect(lines.sort()).deep.equal([
      `info desk  choose({"order":"A1"}) waits for a person's answer. Answer with: agent-host approvals`,
      'info desk  refund({"order":"A1"}) waits for a person. Decide with: agent-host approvals',
      'info desk  weather({"order":"A1"}) is handed to the client',
    ])
  })

  it('leave the answer of a tool that did not wait in one line of the log', async () => {
    await call('list', 'refund')
    expect(lines[0]).equal('info desk  list({"order":"A1"}) → one two')
  })

  it('are one line of the log for a call of another agent: that of the run which a person decides about', async () => {
    const reply = { tool_calls: [{ id: 'c_1', name: 'desk', arguments: { message: 'hi' } }] }
    await call('refund')
    lines.length = 0
    const llm = { id: 'llm', module: 'llm/mock', config: { replies: [reply] } }
    const team = { id: 'team', module: 'tools/agents', config: { agents: ['desk'] } }
    await host.register({ id: 'front', modules: [llm, team, { id: 'loop', module: 'orchestrator/tool-loop' }] })
    expect((await host.run('front', 'hi')).status).equal('waiting')
    expect(lines).deep.equal([
      'info desk (asked by front)  refund({"order":"A1"}) waits for a person. Decide with: agent-host approvals',
    ])
  })

  it('are followed by an end with the pending calls, and no reason for being incomplete', async () => {
    await call('weather')
    expect(ends.map(({ status, incompleteReason, pending }) => [status, incompleteReason, pending.length])).deep.equal([
      ['waiting', undefined, 1],
    ])
    expect(ends[0]?.pending[0]).deep.include({ kind: 'client_tool', name: 'weather' })
  })
})
