import { AgentHost, type LLMPart } from 'agent-host'
import { expect } from 'chai'
import { fakeLLM } from '../support/fake-llm.ts'
import { makeProject } from '../support/temp-project.ts'

const FILES = {
  'modules/own.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Own', provides: [ToolProvider], create: () => ({
  listTools: () => ['look', 'pay'].map((name) => ({ name, description: name, parameters: { type: 'object' } })),
  needsApproval: (name) => name === 'pay',
  executeTool: async () => ({ text: 'seen' }) }) })`,
  // Asks two models, and says what the first has said.
  'modules/judged.ts': `import { defineModule, LLM, many, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Judged', provides: [TextMessageHandler], uses: { llms: many(LLM), response: Response },
  create: ({ llms, response }) => ({ async handleText(text, run) {
    const said = []
    for (const llm of llms) for await (const part of llm.generate({ messages: [] }, run)) if (part.type === 'text') said.push(part.text)
    await response.respondText(said[0])
  } }) })`,
}
const LLM = { id: 'llm', module: 'llm/mock', config: { replies: ['x'] } }

const ended = (text: string, stopSequence?: string): LLMPart[] => [
  { type: 'text', text },
  { type: 'finish', reason: 'stop', ...(stopSequence === undefined ? {} : { stopSequence }) },
]
const calling = (name: string): LLMPart[] => [
  { type: 'tool_call', call: { id: 'c1', name, arguments: {} } },
  { type: 'finish', reason: 'tool_calls' },
]

describe('the stop sequence of a run', () => {
  let host: AgentHost
  beforeEach(async () => {
    const { dir } = await makeProject(FILES)
    host = new AgentHost({ projectDir: dir })
    const loop = { id: 'loop', module: 'orchestrator/tool-loop' }
    await host.register({ id: 'a', modules: [LLM, { id: 'own', module: 'own' }, loop] })
    await host.register({ id: 'b', modules: [LLM, { ...LLM, id: 'judge' }, { id: 'main', module: 'judged' }] })
  })
  afterEach(() => host.close(0))

  const run = async (agent: string, overrides: Record<string, object>) => {
    const result = await host.run(agent, 'hi', { overrides })
    return 'stopSequence' in result ? result.stopSequence : 'none'
  }

  it('is that of the answer which its text ends with: the last of several, and an empty one', async () => {
    expect(await run('a', { llm: fakeLLM(calling('look'), ended('Seen.', 'END')) })).to.equal('END')
    expect(await run('a', { llm: fakeLLM(ended('', 'END')) })).to.equal('END')
  })

  it('is none where the vendor says none, the run waits, or another model has ended there', async () => {
    expect(await run('a', { llm: fakeLLM(ended('Hello.')) })).to.equal('none')
    expect(await run('a', { llm: fakeLLM(calling('pay')) })).to.equal('none')
    expect(await run('b', { llm: fakeLLM(ended('Hello.')), judge: fakeLLM(ended('Fine.', 'END')) })).to.equal('none')
    expect(await run('b', { llm: fakeLLM(ended('Hello.', 'END')), judge: fakeLLM(ended('Fine.')) })).to.equal('END')
  })
})
