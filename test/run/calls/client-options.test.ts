import { AgentHost, defineModule, LLM, type LLMRequest, TextMessageHandler } from 'agent-host'
import { expect } from 'chai'

describe('options of the client', () => {
  it('are in the requests to any model, unless the caller sets or drops them', async () => {
    const asked: Omit<LLMRequest, 'messages'>[] = []
    const model = defineModule({
      name: 'Model',
      provides: [LLM],
      create: () => ({
        async *generate({ messages: _, ...options }) {
          asked.push(options)
          yield { type: 'finish', reason: 'stop' }
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
          for await (const _ of llm.generate({ messages: [], temperature: 0, stop: undefined }, run));
          for await (const _ of llm.generate({ messages: [] }, run.with({ requestOptions: {} })));
        },
      }),
    })
    const host = new AgentHost()
    const modules = [
      { id: 'model', module: model },
      { id: 'caller', module: caller },
    ]
    await host.register({ id: 'agent', modules })
    const responseSchema = { type: 'object' }
    const requestOptions = { temperature: 0.2, stop: ['END'], toolChoice: 'none', responseSchema } as const
    await host.run('agent', 'hi', { requestOptions }).catch(() => {})
    await host.close()
    expect(asked).to.deep.equal([{ temperature: 0.2, stop: ['END'] }, { temperature: 0, stop: ['END'] }, {}])
  })
})
