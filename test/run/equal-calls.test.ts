import { AgentHost, defineModule, LLM, TextMessageHandler, ToolProvider } from 'agent-host'
import { expect } from 'chai'

const DICE = defineModule({
  name: 'Dice',
  provides: [ToolProvider],
  create: () => {
    let count = 0
    return {
      listTools: () => [{ name: 'roll', description: 'Rolls a die.', parameters: { type: 'object' } }],
      executeTool: async () => ({ text: `${++count}` }),
    }
  },
})

const MODEL = defineModule({
  name: 'Model',
  provides: [LLM],
  create: () => ({
    async *generate() {
      for (const id of ['one', 'two']) yield { type: 'tool_call', call: { id, name: 'roll', arguments: {} } } as const
    },
  }),
})

const AT_ONCE = defineModule({
  name: 'AtOnce',
  provides: [TextMessageHandler],
  uses: { llm: LLM, tools: ToolProvider },
  create: ({ llm, tools }) => ({
    async handleText(_text, run) {
      for await (const _ of llm.generate({ messages: [] }, run));
      await Promise.all([1, 2].map(() => tools.executeTool('roll', {}, run)))
    },
  }),
})

describe('equal calls that an orchestrator executes at once', () => {
  it('are two of the trail, although it does not say which is which', async () => {
    const host = new AgentHost()
    const modules = [
      { id: 'dice', module: DICE },
      { id: 'model', module: MODEL },
      { id: 'loop', module: AT_ONCE },
    ]
    await host.register({ id: 'agent', modules })
    const { trail } = await host.run('agent', 'hi')
    await host.close()
    const results = trail.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message.content]] : []))
    expect(results).to.deep.equal([
      ['one', '1'],
      ['two', '2'],
    ])
  })
})
