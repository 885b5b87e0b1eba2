import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { callCli } from '../support/call-cli.ts'
import { CLIENT_TOOLS_PROJECT } from '../support/client-tools.ts'
import { measureCpuTime } from '../support/cpu-time.ts'
import { chat, closeServers, makeServer, readEvents } from '../support/server.ts'

const tools = ['weather', 'time'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object' } },
}))

/** Its model calls the tool that the user names with the rest of the message, once, and then tells the last call and its result. */
const TEXT_PROJECT = {
  'agents/writer.yml': `id: writer
modules:
  - { id: llm, module: writer }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/writer.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Writer', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const { role, content } = messages.at(-1)
    const [, name, input] = /^(\\S+) ?(.*)$/.exec(content)
    if (role === 'user') yield { type: 'tool_call', call: { id: 'c1', name, arguments: { input } } }
    else yield { type: 'text', text: JSON.stringify([messages.at(-2).toolCalls[0].arguments, content]) }
    yield { type: 'finish', reason: role === 'user' ? 'tool_calls' : 'stop' }
  } }) })`,
}

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

  describe('that take free text', () => {
    const note = { type: 'custom', custom: { name: 'note', description: 'Notes.', format: { type: 'text' } } }
    const lowercase = { syntax: 'regex', definition: '[a-z]+' }
    const word = { type: 'custom', custom: { name: 'word', format: { type: 'grammar', grammar: lowercase } } }
    const texts = [note, word]

    it('are called with it, and their outputs come back in the messages', async () => {
      const { app } = await makeServer({}, TEXT_PROJECT)
      const post = (payload: object) => app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
      const [first] = (await post(chat('writer', 'note Hi there', { tools: texts }))).json().choices
      const call = { id: 'c1', type: 'custom', custom: { name: 'note', input: 'Hi there' } }
      expect(first.message).to.deep.equal({ role: 'assistant', content: null, tool_calls: [call] })
      expect(first.finish_reason).to.equal('tool_calls')
      const messages = [
        { role: 'user', content: 'note Hi there' },
        first.message,
        { role: 'tool', tool_call_id: 'c1', content: 'noted' },
      ]
      const [second] = (await post({ model: 'writer', tools: texts, messages })).json().choices
      expect(JSON.parse(second.message.content)).to.deep.equal([{ input: 'Hi there' }, 'noted'])
    })

    it('are called in a stream', async () => {
      const { app } = await makeServer({}, TEXT_PROJECT)
      const payload = chat('writer', 'note Hi', { tools: texts, stream: true })
      const { body } = await app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
      const [, called] = readEvents(body) as { choices: { delta: object }[] }[]
      expect(called?.choices[0]?.delta).to.deep.equal({
        tool_calls: [{ index: 0, id: 'c1', type: 'custom', custom: { name: 'note', input: 'Hi' } }],
      })
    })

    it('may be chosen by their names, and get texts of their grammar alone', async () => {
      const { app } = await makeServer({}, TEXT_PROJECT)
      const post = (payload: object) => app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
      const misfit = (await post(chat('writer', 'word 5', { tools: texts }))).json().choices[0].message.content
      expect(JSON.parse(misfit)[1]).to.equal('The input does not match the regular expression [a-z]+')
      const named = { type: 'custom', custom: { name: 'note' } }
      for (const tool_choice of [
        named,
        { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } },
      ]) {
        expect((await post(chat('writer', 'word a', { tools: texts, tool_choice }))).statusCode).to.equal(200)
      }
      const unknown = { type: 'custom', custom: { name: 'none' } }
      const refused = await post(chat('writer', 'hi', { tools: texts, tool_choice: unknown }))
      expect([refused.statusCode, refused.json().error.param]).to.deep.equal([400, 'tool_choice'])
    })

    const lark = { syntax: 'ebnf', definition: '' }
    const output = { role: 'tool', tool_call_id: 'c1', content: '' }
    for (const [what, more, param] of [
      ['a type that is not known', { tools: [{ type: 'x' }] }, 'tools[0].type'],
      ['a name with a space', { tools: [{ type: 'custom', custom: { name: 'a b' } }] }, 'tools[0].custom.name'],
      [
        'a grammar that is not known',
        { tools: [{ type: 'custom', custom: { name: 'a', format: { type: 'grammar', grammar: lark } } }] },
        'tools[0].custom.format.grammar.syntax',
      ],
      ['two tools of one name', { tools: [note, note] }, 'tools'],
      [
        'a call without its text',
        {
          messages: [
            { role: 'user', content: 'x' },
            { role: 'assistant', tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'note' } }] },
            output,
          ],
        },
        'messages[1].tool_calls[0].custom.input',
      ],
    ] as const) {
      it(`get 400 for ${what}`, async () => {
        const { app } = await makeServer({}, TEXT_PROJECT)
        const payload = chat('writer', 'note Hi', { tools: texts, ...more })
        const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
        expect([reply.statusCode, reply.json().error?.param]).to.deep.equal([400, param])
      })
    }
  })

  it('lead back to their run: both are one conversation in the list of runs', async () => {
    const { app, project } = await makeServer({ debug: true }, CLIENT_TOOLS_PROJECT)
    const post = (payload: object) => app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
    const question = (city: string) => [{ role: 'user', content: `weather ${city}` }]
    const output = { role: 'tool', tool_call_id: 'call_1_0', content: 'rain' }
    const calls: Record<string, object> = {}
    for (const city of ['Lima', 'Oslo']) {
      calls[city] = (await post({ model: 'tools', tools, messages: question(city) })).json().choices[0].message
    }
    await post({ model: 'tools', tools, messages: [...question('Lima'), calls.Lima, output], stream: true })
    await post({ model: 'late', tools, messages: [...question('Oslo'), calls.Oslo, output] })
    await closeServers()
    const { stdout } = await callCli(['runs', '--json'], { cwd: project.dir })
    const runs: Record<string, string | null>[] = JSON.parse(stdout).runs
    const [other, last, oslo, lima] = runs
    expect(runs.map(({ status }) => status)).to.deep.equal(['completed', 'completed', 'handed_to_client', 'continued'])
    expect([last?.continues, lima?.continued_by]).to.deep.equal([lima?.run_id, last?.run_id])
    expect([other?.continues, oslo?.continued_by]).to.deep.equal([null, null])
  })

  it('lead to no run of another user, although both ask the same: one is forgotten without the other', async () => {
    const { app, project } = await makeServer({ debug: true }, CLIENT_TOOLS_PROJECT)
    const ask = async (user: string, ...more: object[]) => {
      const messages = [{ role: 'user', content: 'weather Lima' }, ...more]
      const payload = { model: 'tools', tools, user, messages }
      return (await app.inject({ method: 'POST', url: '/v1/chat/completions', payload })).json().choices[0].message
    }
    const [ofAda] = [await ask('ada'), await ask('bob')]
    await ask('ada', ofAda, { role: 'tool', tool_call_id: 'call_1_0', content: 'rain' })
    await closeServers()
    const { stdout } = await callCli(['runs', '--json'], { cwd: project.dir })
    const [last, , first] = JSON.parse(stdout).runs
    expect(last.continues).to.equal(first.run_id)
    expect((await callCli(['store', 'forget', '--user', 'bob'], { cwd: project.dir })).exitCode).to.equal(0)
    const left = JSON.parse((await callCli(['runs', '--json'], { cwd: project.dir })).stdout).runs
    expect(left.map(({ run_id }: { run_id: string }) => run_id)).to.deep.equal([last.run_id, first.run_id])
  })

  it('may be answered by a stream of an agent that answers at once, also where there is a store', async () => {
    const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter']
    const { app } = await makeServer({ adapters }, CLIENT_TOOLS_PROJECT)
    await app.inject({ method: 'POST', url: '/v1/responses', payload: { model: 'echo', input: 'a store' } })
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ]
    const payload = { model: 'echo', messages, stream: true }
    const { body } = await app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
    expect(body).to.contain('"content":"hi"')
    expect(body).to.not.contain('error')
  })

  it('make no store where there is none', async () => {
    const { app, project } = await makeServer({}, CLIENT_TOOLS_PROJECT)
    const payload = chat('tools', 'weather Lima', { tools })
    const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
    expect(reply.json().choices[0].finish_reason).to.equal('tool_calls')
    await closeServers()
    const files = readdirSync(project.dir, { recursive: true }).map(String)
    expect(files.filter((file) => file.endsWith('.db'))).to.deep.equal([])
  })

  it("go out alone if a step also calls the agent's tools, which are not executed", async () => {
    const post = await makePost()
    const [choice] = (await post(chat('tools', 'weather Lima own x', { tools }))).json().choices
    expect(choice.message.tool_calls.map((call: { id: string }) => call.id)).to.deep.equal(['call_1_0'])
    expect(choice.finish_reason).to.equal('tool_calls')
  })

  it('are chosen in the time that the request takes, however many they are', async () => {
    const { app } = await makeServer({}, CLIENT_TOOLS_PROJECT)
    const many = Array.from({ length: 50_000 }, (_, index) => ({ type: 'function', function: { name: `t${index}` } }))
    const tool_choice = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: many } }
    const payload = chat('tools', 'hi', { tools: many, tool_choice })
    const spentMs = measureCpuTime()
    const { statusCode } = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
    expect([statusCode, spentMs() < 1500]).to.deep.equal([200, true])
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
