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

  it('that yields a part of an unknown type gets one warning with the type and those that exist', async () => {
    const lines: string[] = []
    const noting = (message: string) => void lines.push(message)
    const model = defineModule({
      name: 'Model',
      provides: [LLM],
      create: () => ({
        async *generate() {
          yield { type: 'token', text: 'lost' } as never
          yield { type: 'text', text: 'kept' } as const
          yield { type: 'finish', reason: 'stop' } as const
        },
      }),
    })
    const host = new AgentHost({ log: { debug: noting, info: noting, warn: noting, error: noting } })
    const modules = [
      { id: 'model', module: model },
      { id: 'loop', module: 'orchestrator/tool-loop' },
    ]
    await host.register({ id: 'agent', modules })
    const texts = [(await host.run('agent', 'hi')).text, (await host.run('agent', 'hi')).text]
    await host.close()
    expect(texts).to.deep.equal(['kept', 'kept'])
    expect(lines.filter((line) => line.includes('unknown type'))).to.deep.equal([
      "agent: module 'model' yields a part of the unknown type 'token'. The types: text, reasoning, tool_call, usage, finish.",
    ])
  })
})
