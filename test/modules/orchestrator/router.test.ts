import { AgentHost, type ConversationHistory, type LLM, type LLMRequest, type Message } from 'agent-host'
import { expect } from 'chai'
import { runAgent } from '../../support/run-agent.ts'

const HANDLERS = [
  { name: 'billing', description: 'Invoices and payments', keywords: ['invoice', 'pay back', 'c++'] },
  { name: 'travel', description: 'Flights and trains', keywords: ['train'] },
]
const echo = (id: string) => ({ id, module: 'echo', config: { prefix: `${id}: ` } })
const desk = (config: object = {}, modules: object[] = []) => ({
  id: 'desk',
  modules: [
    echo('billing'),
    echo('travel'),
    { id: 'router', module: 'orchestrator/router', config: { handlers: HANDLERS, ...config } },
    ...modules,
  ],
  exchange: [{ module: '__entry__', protocol: 'TextMessageHandler', provider: 'router' }],
})
const model = (reply: string | object) => ({ id: 'llm', module: 'llm/mock', config: { replies: [reply] } })
const answer = async (text: string, agent: object, facts = {}) => (await runAgent(agent, text, facts)).text

describe('orchestrator/router', () => {
  it('picks by keyword: whole words and phrases, in any case', async () => {
    expect(await answer('Where is my INVOICE?', desk())).to.equal('billing: Where is my INVOICE?')
    expect(await answer('Can you pay  back?', desk())).to.equal('billing: Can you pay  back?')
    expect(await answer('I learn C++.', desk())).to.equal('billing: I learn C++.')
    expect(await answer('the next train', desk())).to.equal('travel: the next train')
    const none = desk({ no_match: 'nobody' })
    for (const text of ['a strain', 'my training', 'pay it back'])
      expect(await answer(text, none), text).to.equal('nobody')
  })

  it('calls no model if a keyword matches', async () => {
    expect(await answer('my train', desk({}, [model({ error: 'asked' })]))).to.equal('travel: my train')
  })

  it('asks the model for a name, given the descriptions and the conversation', async () => {
    const asked: LLMRequest[] = []
    const llm: LLM = {
      async *generate(request) {
        asked.push(request)
        yield { type: 'text', text: ' Travel\n' }
      },
    }
    const messages: Message[] = [
      { role: 'system', content: 'house rules' },
      { role: 'user', content: 'A ticket to Rome' },
      { role: 'assistant', content: 'When?' },
      { role: 'user', content: 'on Monday' },
    ]
    const agent = desk({ prompt: 'Pick:\n{handlers}' }, [model('x')])
    const host = new AgentHost()
    await host.register(agent)
    const { text } = await host.run('desk', messages, { overrides: { llm } })
    await host.close()
    expect(text).to.equal('travel: on Monday')
    expect(asked.map((request) => request.messages)).to.deep.equal([
      [
        { role: 'system', content: 'Pick:\n- billing: Invoices and payments\n- travel: Flights and trains' },
        { role: 'user', content: 'user: A ticket to Rome\n\nassistant: When?\n\nuser: on Monday' },
      ],
    ])
  })

  it('accepts a name within a longer reply, and rejects a reply with two names', async () => {
    expect(await answer('hi', desk({}, [model('I think travel fits.')]))).to.equal('travel: hi')
    expect(await answer('hi', desk({ fallback: 'travel' }, [model('travel or billing')]))).to.equal('travel: hi')
  })

  it('lists its topics when no handler matches, and marks the answer', async () => {
    const { text, incompleteReason } = await runAgent(desk({}, [model('none')]), 'Sing!')
    expect(text).to.equal(
      'I do not know who could answer that. I can help with:\n- billing: Invoices and payments\n- travel: Flights and trains',
    )
    expect(incompleteReason).to.equal('no_handler')
    expect(await answer('Sing!', desk({ no_match: 'Ask elsewhere.' }))).to.equal('Ask elsewhere.')
  })

  it('rejects a config that does not match its handlers', async () => {
    const failure = (agent: object) => answer('hi', agent).catch((error: Error) => error.message)
    expect(await failure(desk({ handlers: [{ name: 'billing' }] }))).to.equal(
      'The router has 2 handlers, and its config describes 1 (billing). List the handlers under exchange in the order of the config.',
    )
    expect(await failure(desk({ handlers: [{ name: 'travel' }, { name: 'billing' }] }))).to.equal(
      "The config of the router calls the handler 'billing' 'travel', the id of another one. Describe the handlers in their order: billing, travel.",
    )
    expect(await failure(desk({ fallback: 'sales' }))).to.equal(
      "The router's fallback 'sales' is not one of its handlers: billing, travel.",
    )
    expect(await failure(desk({ handlers: [{ name: 'a' }, { name: 'a' }] }))).to.equal(
      "Two handlers of the router are called 'a'.",
    )
  })

  it('counts what its history costs', async () => {
    const history: ConversationHistory = {
      async getHistory(run) {
        run?.addUsage({ inputTokens: 5000 })
        return []
      },
      addMessage: async () => {},
      clearHistory: async () => {},
    }
    const agent = desk({ max_tokens: 1000 }, [model('travel'), { id: 'history', module: 'conversation/history' }])
    const { incompleteReason } = await runAgent(agent, 'hi', { overrides: { history } })
    expect(incompleteReason).to.equal('max_tokens')
  })

  it('aborts a handler that takes too long', async () => {
    const slow = { id: 'slow', module: 'llm/mock', config: { replies: [{ text: 'a b c', delay_ms: 60 }] } }
    const agent = {
      id: 'desk',
      modules: [
        slow,
        { id: 'loop', module: 'orchestrator/tool-loop' },
        {
          id: 'router',
          module: 'orchestrator/router',
          config: { handlers: [{ name: 'loop' }], fallback: 'loop', max_seconds: 0.1 },
        },
      ],
      exchange: [{ module: '__entry__', protocol: 'TextMessageHandler', provider: 'router' }],
    }
    const { text, incompleteReason } = await runAgent(agent, 'hi')
    expect(text).to.match(/I stopped after 0\.1 seconds/)
    expect(incompleteReason).to.equal('max_seconds')
  })
})
