import type { RunEvent } from 'agent-host'
import { expect } from 'chai'
import { runAgent } from '../../support/run-agent.ts'

const echo = (id: string, prefix = `${id} `) => ({ id, module: 'echo', config: { prefix } })
const entry = { module: '__entry__', protocol: 'TextMessageHandler', provider: 'pipeline' }
const pipeline = (modules: object[], config: object = {}, exchange: object[] = []) => ({
  id: 'line',
  modules: [
    ...modules,
    { id: 'stage', module: 'orchestrator/stage' },
    { id: 'pipeline', module: 'orchestrator/pipeline', config },
  ],
  exchange: [entry, ...exchange],
})
const model = (id: string, ...replies: unknown[]) => ({ id, module: 'llm/mock', config: { replies } })

describe('orchestrator/pipeline', () => {
  it('passes each answer to the next handler, and sends only the last one', async () => {
    const { text } = await runAgent(pipeline([echo('a'), echo('b'), echo('c')]), 'x')
    expect(text).to.equal('c b a x')
  })

  it('shows each handler a conversation that ends with its question', async () => {
    const show = `import { ConversationHistory, defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Show', provides: [TextMessageHandler], uses: { history: ConversationHistory, response: Response },
  create: ({ history, response }) => ({ async handleText(text, run) {
    const messages = await history.getHistory(run)
    await response.respondText(messages.map(({ role, content }) => role + ' ' + content).join(', '))
  } }) })`
    const { text } = await runAgent(pipeline([echo('a'), { id: 'show', module: 'show' }]), 'x', {
      files: { 'modules/show.ts': show },
    })
    expect(text).to.equal('user a x')
  })

  it('streams the answer of the last handler', async () => {
    const parts: RunEvent[] = []
    const agent = pipeline([echo('a'), model('llm', 'one two'), { id: 'loop', module: 'orchestrator/tool-loop' }])
    await runAgent(agent, 'x', { onEvent: (event) => void (event.type === 'text' && parts.push(event)) })
    expect(parts).to.deep.equal([
      { type: 'text', text: 'one' },
      { type: 'text', text: ' two' },
    ])
  })

  it('passes answers on in the format of its config', async () => {
    const config = { hand_on: 'Question: {question} Draft: {text}' }
    const { text } = await runAgent(pipeline([echo('a'), echo('b')], config), 'x {text}')
    expect(text).to.equal('b Question: x {text} Draft: a x {text}')
  })

  it('can be a handler of another pipeline', async () => {
    const agent = pipeline([echo('a'), echo('b'), echo('c'), echo('d')], {}, [
      { module: 'pipeline', protocol: 'TextMessageHandler', provider: ['a', 'inner', 'c'] },
      { module: 'inner', protocol: 'TextMessageHandler', provider: ['b', 'd'] },
    ])
    agent.modules.push({ id: 'inner', module: 'orchestrator/pipeline' })
    expect((await runAgent(agent, 'x')).text).to.equal('c d b a x')
  })

  it('fails when a handler gives no answer, and names it', async () => {
    const silent = pipeline([echo('a'), model('llm', ''), { id: 'loop', module: 'orchestrator/tool-loop' }, echo('c')])
    const failure = await runAgent(silent, 'x').catch((error: Error) => error.message)
    expect(failure).to.equal('Handler 2 of 3 of the pipeline has answered nothing, so there is nothing to hand on.')
  })

  it('starts no further handler once its budget is spent, and says so', async () => {
    const usage = { input_tokens: 50, output_tokens: 60 }
    const loop = { id: 'loop', module: 'orchestrator/tool-loop' }
    const agent = pipeline([model('llm', { text: 'draft', usage }), loop, echo('b')], { max_tokens: 100 })
    const { text, incompleteReason } = await runAgent(agent, 'x')
    expect(text).to.equal('I stopped, because this answer has already taken 110 tokens.')
    expect(incompleteReason).to.equal('max_tokens')
  })

  it('ends when its time is up', async () => {
    const loop = { id: 'loop', module: 'orchestrator/tool-loop' }
    const agent = pipeline([model('llm', { text: 'a b c d', delay_ms: 60 }), loop, echo('b')], { max_seconds: 0.1 })
    const { text, incompleteReason } = await runAgent(agent, 'x')
    expect(text).to.equal('I stopped after 0.1 seconds without coming to an end.')
    expect(incompleteReason).to.equal('max_seconds')
  })

  it('reports a missing stage at registration', async () => {
    const agent = pipeline([echo('a')])
    agent.modules = agent.modules.filter((module) => (module as { id: string }).id !== 'stage')
    const failure = await runAgent(agent, 'x').catch((error: Error) => error.message)
    expect(failure).to.contain("module 'pipeline' needs 'OutputCapture' (field 'stage'), and no module provides it.")
  })
})
