import { type AgentEvent, AgentHost, type DurableEvent, openProject, type RunEvent } from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

const TELLER = `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Teller', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(text) {
    if (text === 'wrong') return response.respondEvent('wrong', () => {})
    await response.respondEvent('seen', { text })
    await response.respondText('done')
  } }) })`
const PLAIN = `import { defineModule, Response } from 'agent-host'
export default defineModule({ name: 'Plain', provides: [Response], uses: { response: Response },
  create: ({ response: { respondText, respondReasoning, respondImage, respondAudio, respondFile, getResponse } }) => ({ respondText, respondReasoning, respondImage, respondAudio, respondFile, getResponse }) })`
const ASKER = `import { defineModule, TextMessageHandler, Response, ToolProvider, many } from 'agent-host'
export default defineModule({ name: 'Asker', provides: [TextMessageHandler], uses: { tools: many(ToolProvider) },
  create: ({ tools }) => ({ async handleText(text, run) { await tools[0].executeTool('teller', { message: text }, run.with({ toolCallId: 'c1' })) } }) })`
const TELL = '{ id: main, module: teller }'
const agent = (id: string, ...modules: string[]) => `id: ${id}\nmodules: [${modules.join(', ')}]`
const FILES = {
  'modules/teller.ts': TELLER,
  'modules/plain.ts': PLAIN,
  'modules/asker.ts': ASKER,
  'agents/teller.yml': agent('teller', TELL),
  'agents/collected.yml': agent('collected', TELL, '{ id: whole, module: response/collector }'),
  'agents/plain.yml': agent('plain', TELL, '{ id: plain, module: plain }'),
  'agents/asker.yml': agent(
    'asker',
    '{ id: main, module: asker }',
    '{ id: agents, module: tools/agents, config: { agents: [teller] } }',
  ),
}
const SEEN = { type: 'custom', name: 'seen', value: { text: 'hi' } }

describe('events of a module', () => {
  const eventsOf = async (host: AgentHost, name: string, text = 'hi') => {
    const events: RunEvent[] = []
    const error = await host.run(name, text, { onEvent: (event) => void events.push(event) }).catch((error) => error)
    return { error, events: events.filter(({ type }) => type === 'custom') }
  }

  it('reach the sink of the run, through modules that hand them on, and from an agent that was called', async () => {
    const { dir } = await makeProject(FILES)
    await using project = await openProject({ projectDir: dir, logLevel: 'silent' })
    for (const name of ['teller', 'collected', 'asker'])
      expect((await eventsOf(project.host, name)).events).to.deep.equal([SEEN])
    const { error } = await eventsOf(project.host, 'teller', 'wrong')
    expect(String(error)).to.contain('respondEvent takes a name and JSON.')
    expect(String((await eventsOf(project.host, 'plain')).error)).to.contain('respondEvent is not a function')
  })

  it('are calls of a trace', async () => {
    const { dir } = await makeProject(FILES)
    const host = new AgentHost({ projectDir: dir })
    await host.register({ id: 'teller', modules: [{ id: 'main', module: 'teller' }] })
    const seen: AgentEvent[] = []
    host.onEvent((event) => void seen.push(event))
    await host.run('teller', 'hi')
    await host.close()
    const call = seen.find((event) => event.method_name === 'respondEvent' && event.event_type === 'call')
    expect(call?.arguments).to.deep.equal({ args: ['seen', { text: 'hi' }] })
  })

  it('of a durable run are followed in any process, also after its end; responses leave them out', async () => {
    const { dir } = await makeProject(FILES)
    await using project = await openProject({ projectDir: dir, logLevel: 'silent' })
    const runs = project.runs.of('')
    const { id } = await runs.start({ agent: 'teller', messages: [{ role: 'user', content: 'hi' }] })
    for (let time = 0; time < 2; time++) {
      const events: DurableEvent[] = []
      for await (const event of runs.follow(id)) events.push(event)
      const told = events.map(({ number, ...event }) => event)
      expect(told.slice(0, 2)).to.deep.equal([SEEN, { type: 'text', text: 'done' }])
    }
    expect((await runs.find(id))?.text).to.equal('done')
  })
})
