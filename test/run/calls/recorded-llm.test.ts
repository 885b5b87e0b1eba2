import { AgentHost, defineModule, LLM, TextMessageHandler } from 'agent-host'
import { expect } from 'chai'

describe('a recorded model', () => {
  it('that yields a call without its parts ends the run with the form of such a part', async () => {
    const model = defineModule({
      name: 'Model',
      provides: [LLM],
      create: () => ({
        async *generate() {
          yield { type: 'tool_call', id: 'call-1', name: 'look', arguments: {} } as never
        },
      }),
    })
    const caller = defineModule({
      name: 'Caller',
      provides: [TextMessageHandler],
      uses: { llm: LLM },
      create: ({ llm }) => ({
        async handleText(_text, run) {
          for await (const _ of llm.generate({ messages: [] }, run));
        },
      }),
    })
    const host = new AgentHost()
    const modules = [
      { id: 'model', module: model },
      { id: 'caller', module: caller },
    ]
    await host.register({ id: 'agent', modules })
    const failed = await host.run('agent', 'hi').catch(({ message }: Error) => message)
    await host.close()
    expect(failed).to.contain("Yield { type: 'tool_call', call: { id, name, arguments } }")
  })
})
