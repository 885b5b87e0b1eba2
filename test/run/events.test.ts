import { type AgentEvent, AgentHost } from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

const MODULES = {
  'modules/model.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Model', provides: [LLM], create: () => ({
  async *generate() { yield { type: 'text', text: 'a' }; yield { type: 'text', text: 'b' } } }) })`,
  'modules/tools.ts': `import { defineModule, LLM, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Tools', provides: [ToolProvider], uses: { llm: LLM }, create: ({ llm }) => ({
  listTools: () => [],
  async executeTool(name, args, run) {
    if (name === 'fail') throw new Error('tool failed')
    let text = ''
    for await (const part of llm.generate({ messages: [] }, run)) text += part.text
    return { text: name + text }
  } }) })`,
  'modules/loop.ts': `import { ConversationHistory, defineModule, LLM, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Loop', provides: [TextMessageHandler], uses: { tools: ToolProvider, llm: LLM, response: Response, history: ConversationHistory },
  create: ({ tools, llm, response, history }) => ({ async handleText(text, run) {
    if (text === 'parallel') await Promise.all([tools.executeTool('x', {}, run), tools.executeTool('y', {}, run)])
    if (text === 'leave') for await (const part of llm.generate({ messages: [] }, run)) break
    if (text === 'fail') await tools.executeTool('fail', { n: 1 }, run).catch(() => {})
    if (text === 'usage') { run.addUsage({ inputTokens: 2 }); await response.respondText(String(run.signal.aborted)) }
    if (text === 'limit') { run.markIncomplete('max_steps'); run.markIncomplete('later') }
  } }) })`,
}

const AGENT = {
  id: 'a',
  modules: [
    { id: 'loop', module: 'loop' },
    { id: 'tools', module: 'tools', scope: 'agent' },
    { id: 'model', module: 'model', scope: 'agent' },
  ],
}

async function record(text: string, prefix = '') {
  const project = await makeProject(MODULES)
  const host = new AgentHost({ projectDir: project.dir })
  await host.register(AGENT)
  const events: AgentEvent[] = []
  const stop = host.onEvent((event) => void events.push(event), prefix)
  const result = await host.run('a', text)
  stop()
  await host.run('a', text)
  await host.close()
  const start = result.runId
  const short = (id: string | null) => id?.replace(start, 'run') ?? null
  return { events, result, tree: events.map((e) => `${short(e.parent_call_id)} > ${short(e.call_id)} ${e.event_name}`) }
}

describe('events', () => {
  it('report a call and its end, with every field', async () => {
    const { events, result } = await record('fail')
    const { runId } = result
    const [call, exception] = events.filter(({ module_id }) => module_id === 'tools')
    expect(call).to.deep.include({
      agent_id: 'a',
      event_name: 'tools.Tools.executeTool.call',
      event_type: 'call',
      module_id: 'tools',
      module_class: 'Tools',
      method_name: 'executeTool',
      protocol: 'ToolProvider',
      call_id: `${runId}.2`,
      caller_id: 'loop',
      arguments: { args: ['fail', { n: 1 }, { run: runId }] },
      result: null,
      exception: null,
      run_id: runId,
      parent_call_id: `${runId}.1`,
      entry_point: '__entry__',
      duration_ms: null,
    })
    expect(call?.time).to.be.closeTo(Date.now() / 1000, 5)
    expect(exception).to.deep.include({
      event_name: 'tools.Tools.executeTool.exception',
      call_id: `${runId}.2`,
      arguments: null,
    })
    expect(exception?.exception).to.match(/^Error: tool failed\n {4}at .*tools\.ts:5:/)
    expect(exception?.duration_ms).to.be.within(0, 5000)
    expect(events[0]).to.include({
      caller_id: 'agent:a',
      event_name: 'loop.Loop.handleText.call',
      parent_call_id: null,
    })
    expect(events.at(-1)).to.include({ event_name: 'loop.Loop.handleText.result', result: null })
  })

  it('find the parent of each call, even of parallel calls and between agent-scoped modules', async () => {
    const { tree } = await record('parallel')
    expect(tree.filter((line) => line.endsWith('.call'))).to.have.members([
      'null > run.1 loop.Loop.handleText.call',
      'run.1 > run.2 tools.Tools.executeTool.call',
      'run.1 > run.3 tools.Tools.executeTool.call',
      'run.2 > a.1 model.Model.generate.call',
      'run.3 > a.2 model.Model.generate.call',
    ])
  })

  it('end a stream once with its parts, even if it is left early', async () => {
    const { events } = await record('leave')
    const ofModel = events.filter(({ module_id }) => module_id === 'model')
    expect(ofModel.map(({ event_type, result }) => [event_type, result])).to.deep.equal([
      ['call', null],
      ['result', [{ type: 'text', text: 'a' }]],
    ])
  })

  it('reach listeners of their prefix until they unsubscribe', async () => {
    const { tree } = await record('fail', 'tools.Tools')
    expect(tree).to.have.lengthOf(2)
  })

  it('do not change the run: usage and signal are the same through a facade', async () => {
    const { result } = await record('usage')
    expect([result.text, result.usage.inputTokens]).to.deep.equal(['false', 2])
  })

  it('do not change the reason why a run ended early: the first one counts', async () => {
    const { result } = await record('limit')
    expect(result.incompleteReason).to.equal('max_steps')
  })

  it('report a module that failed to be created', async () => {
    const project = await makeProject({
      'modules/unmade.ts': `import { defineModule, TextMessageHandler, Type } from 'agent-host'
export default defineModule({ name: 'Unmade', provides: [TextMessageHandler], config: Type.Object({ late: Type.Boolean() }),
  create(_, { late }) { if (!late) throw new Error('no parts'); return Promise.reject(new Error('no parts later')) } })`,
    })
    const host = new AgentHost({ projectDir: project.dir })
    const events: AgentEvent[] = []
    host.onEvent((event) => void events.push(event))
    for (const late of [false, true]) {
      await host.register({ id: `a${late}`, modules: [{ id: 'main', module: 'unmade', config: { late } }] })
      await host.run(`a${late}`, 'x').catch(() => {})
    }
    await host.close()
    const facts = events.map(({ event_name, caller_id, exception, run_id }) => {
      return [event_name, caller_id, exception?.split('\n')[0] ?? null, typeof run_id]
    })
    expect(facts).to.deep.equal([
      ['unmade.Unmade.create.call', 'agent:afalse', null, 'string'],
      ['unmade.Unmade.create.exception', 'agent:afalse', 'Error: no parts', 'string'],
      ['unmade.Unmade.create.call', 'agent:atrue', null, 'string'],
      ['unmade.Unmade.create.exception', 'agent:atrue', 'Error: no parts later', 'string'],
    ])
  })

  it('continue if a listener throws', async () => {
    const project = await makeProject(MODULES)
    const errors: string[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) }
    const host = new AgentHost({ projectDir: project.dir, log })
    await host.register(AGENT)
    let heard = 0
    host.onEvent(() => {
      throw new Error('bad listener')
    })
    host.onEvent(() => void heard++)
    expect((await host.run('a', 'x')).text).to.equal('')
    expect(heard).to.equal(2)
    expect(errors[0]).to.equal('A listener for events failed on loop.Loop.handleText.call: bad listener')
    await host.close()
  })
})
