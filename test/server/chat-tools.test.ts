import { expect } from 'chai'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { chat, closeServers, makeServer, readEvents } from '../support/server.ts'

const tools = ['weather', 'time'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object' } },
}))

describe('tools of a chat client', () => {
  afterEach(closeServers)

  const makePost = async () => {
    const { app } = await makeServer({}, CLIENT_TOOLS_PROJECT)
    return (payload: object) => app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
  }

  it('are called in parallel, and their outputs come back in the messages', async () => {
    const post = await makePost()
    const [first] = (await post(chat('tools', 'weather Lima time Lima', { tools }))).json().choices
    const call = (id: string, name: string) => ({
      id,
      type: 'function',
      function: { name, arguments: '{"city":"Lima"}' },
    })
    expect(first).to.deep.equal({
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [call('call_1_0', 'weather'), call('call_1_1', 'time')],
      },
      finish_reason: 'tool_calls',
    })
    const output = (tool_call_id: string, content: unknown) => ({ role: 'tool', tool_call_id, content })
    const messages = [
      { role: 'user', content: 'weather Lima time Lima' },
      first.message,
      output('call_1_0', 'rain'),
      output('call_1_1', [{ type: 'text', text: 'noon' }]),
    ]
    const [second] = (await post({ model: 'tools', tools, messages })).json().choices
    expect(second).to.deep.equal({
      index: 0,
      message: { role: 'assistant', content: 'weather: rain; time: noon' },
      finish_reason: 'stop',
    })
  })

  it('are called in a stream, one chunk each', async () => {
    const post = await makePost()
    const body = chat('tools', 'weather Lima time Lima', { tools, stream: true })
    const events = readEvents((await post(body)).body) as {
      choices: { delta: object; finish_reason: string | null }[]
    }[]
    const call = (index: number, name: string) => ({
      tool_calls: [
        { index, id: `call_1_${index}`, type: 'function', function: { name, arguments: '{"city":"Lima"}' } },
      ],
    })
    expect(events.slice(0, -1).map(({ choices }) => [choices[0]?.delta, choices[0]?.finish_reason])).to.deep.equal([
      [{ role: 'assistant', content: '' }, null],
      [call(0, 'weather'), null],
      [call(1, 'time'), null],
      [{}, 'tool_calls'],
    ])
  })

  it("go out alone if a step also calls the agent's tools, which are not executed", async () => {
    const post = await makePost()
    const [choice] = (await post(chat('tools', 'weather Lima own x', { tools }))).json().choices
    expect(choice.message.tool_calls.map((call: { id: string }) => call.id)).to.deep.equal(['call_1_0'])
    expect(choice.finish_reason).to.equal('tool_calls')
  })

  it('are ignored by an agent that calls no tools', async () => {
    const post = await makePost()
    expect((await post(chat('echo', 'hi', { tools }))).json().choices[0].message.content).to.equal('hi')
  })

  it("may not have the name of one of the agent's tools", async () => {
    const post = await makePost()
    const own = [{ type: 'function', function: { name: 'own' } }]
    for (const [model, stream] of [
      ['tools', false],
      ['tools', true],
      ['late', true],
    ] as const) {
      const refused = await post(chat(model, 'own x', { tools: own, stream }))
      expect([refused.statusCode, refused.json().detail]).to.deep.equal([
        400,
        `tools: agent '${model}' has a tool 'own' of its own. Rename yours.`,
      ])
    }
  })

  it('need unique names: duplicates are rejected in both APIs', async () => {
    const { app } = await makeServer({ adapters: ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter'] })
    const parameters = { type: 'object', properties: {} }
    const tool = { type: 'function', function: { name: 'look', parameters } }
    for (const [url, payload] of [
      ['/v1/chat/completions', chat('model', 'hi', { tools: [tool, tool] })],
      [
        '/v1/responses',
        {
          model: 'model',
          input: 'hi',
          tools: [
            { type: 'function', name: 'look' },
            { type: 'function', name: 'look' },
          ],
        },
      ],
    ] as const) {
      const reply = await app.inject({ method: 'POST', url, payload })
      expect([reply.statusCode, reply.json().error.message]).to.deep.equal([
        400,
        "tools: two of them have the name 'look'.",
      ])
    }
  })

  it('keep text that an agent sends before its stream starts', async () => {
    const post = await makePost()
    const { body } = await post(chat('late', 'hi', { tools, stream: true }))
    const events = readEvents(body).slice(0, -1) as { choices: { delta: { content?: string } }[] }[]
    expect(events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).to.equal('nothing')
  })

  it('report an approval as text, which no user message can decide', async () => {
    const post = await makePost()
    const [choice] = (await post(chat('tools', 'pay x'))).json().choices
    expect(choice).to.deep.equal({
      index: 0,
      message: {
        role: 'assistant',
        content: '\n\nWaiting for approval of pay {"city":"x"}. Decide with: agent-host approvals\n',
      },
      finish_reason: 'stop',
    })
  })
})
