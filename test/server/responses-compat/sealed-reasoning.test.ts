import { expect } from 'chai'
import OpenAI from 'openai'
import { startModelServer } from '../../support/fake-model-server.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers, readEvents } from '../../support/server.ts'
import { ROUNDS, signedAnthropic, signedGoogle } from '../../support/signed-thinking.ts'
import { keysFile, Visitor } from '../../support/tenant-visitor.ts'

const include = ['reasoning.encrypted_content']
const tools = [{ type: 'function', name: 'step', parameters: { type: 'object', properties: {} } }]

const agentOf = (id: string, module: string, config: object) => `id: ${id}
modules:
  - ${JSON.stringify({ id: 'llm', module, config })}
  - { id: loop, module: orchestrator/tool-loop }`

/** Its model thinks, says a word where it is asked to, and calls the tool; after results it tells what reasoning came back. */
const FILES = {
  'agents/thinker.yml': agentOf('thinker', 'thinker', {}),
  'agents/other.yml': agentOf('other', 'thinker', {}),
  'modules/thinker.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Thinker', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const { role, content } = messages.at(-1)
    if (role === 'tool' || content === 'tell') {
      yield { type: 'text', text: JSON.stringify(messages.flatMap((m) => m.role !== 'assistant' ? [] : [
        [(m.reasoning ?? []).map(({ text, providerMetadata: p }) => text + ':' + p?.v?.s), m.content, m.phase ?? '', ...(m.toolCalls ?? []).map(({ providerMetadata: p }) => p?.v?.s ?? '')] ])) }
      return yield { type: 'finish', reason: 'stop' }
    }
    yield { type: 'reasoning', text: 'I thi', blockId: '0' }
    yield { type: 'reasoning', text: 'nk', blockId: '0' }
    yield { type: 'reasoning', text: '', blockId: '0', providerMetadata: { v: { s: 'A' } } }
    if (content === 'word') yield { type: 'text', text: 'Well.' }
    yield { type: 'tool_call', call: { id: 'c1', name: 'step', arguments: {}, providerMetadata: { v: { s: 'B' } } } }
    yield { type: 'tool_call', call: { id: 'c2', name: 'step', arguments: {} } }
    yield { type: 'finish', reason: 'tool_calls' }
  } }) })`,
}

/** Its tool asks the person, after a word of the model. */
const ASKING = {
  'agents/asker.yml': `id: asker
modules:
  - { id: llm, module: wordy }
  - { id: size, module: size }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/wordy.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Wordy', provides: [LLM], create: () => ({
  async *generate() {
    yield { type: 'text', text: 'Well.' }
    yield { type: 'tool_call', call: { id: 'c1', name: 'size', arguments: {} } }
    yield { type: 'finish', reason: 'tool_calls' }
  } }) })`,
  'modules/size.ts': `import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Size', provides: [ToolProvider], create: () => ({
  listTools: () => [{ name: 'size', description: 'Asks.', parameters: { type: 'object', properties: {} } }],
  executeTool: async (name, args, run) => ({ content: String(await run.ask({ message: 'Which?' })) }) }) })`,
}

describe('reasoning that a client keeps', () => {
  afterEach(closeServers)

  for (const [vendor, answer, config] of [
    ['anthropic', signedAnthropic, { thinking_budget: 2000 }],
    ['google', signedGoogle, {}],
  ] as const) {
    it(`goes back to ${vendor} with its signature for ${ROUNDS} rounds that are not stored, streamed or not`, async () => {
      const model = await startModelServer(answer)
      const settings = { model: 'm', api_key: 'none', base_url: model.url, max_retries: 0, ...config }
      const server = await makeResponses({}, { 'agents/keeper.yml': agentOf('keeper', `llm/${vendor}`, settings) })
      const client = new OpenAI({ baseURL: `${await server.listen()}/v1`, apiKey: 'none', maxRetries: 0 })
      try {
        const input: Json[] = [{ role: 'user', content: 'Go.' }]
        for (let round = 0; round <= ROUNDS; round++) {
          const body = { model: 'keeper', input, tools, include, store: false, reasoning: {} } as never
          const isStreamed = round % 2 === 1
          const { output } = (await (isStreamed
            ? client.responses.stream(body).finalResponse()
            : client.responses.create(body))) as Json
          input.push(...output)
          const calls = output.filter(({ type }: Json) => type === 'function_call')
          for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: 'ok' })
        }
        expect(input.at(-1).content[0].text).to.equal('Done.')
        expect(model.requests).to.have.length(ROUNDS + 1)
        const thoughts = input.filter(({ type }) => type === 'reasoning')
        expect(thoughts.length).to.be.at.least(ROUNDS)
        for (const { encrypted_content } of thoughts) expect(encrypted_content).to.match(/^v1\.[\w-]{60,}$/)
      } finally {
        await model.stop()
      }
    })
  }

  const make = async (options: object = {}, files: Record<string, string> = {}) => {
    const { app, listen } = await makeResponses(options, { ...FILES, ...files })
    const ask = async (input: unknown, more: object = {}, prefix = '/v1') => {
      const payload = { model: 'thinker', input, tools, include, store: false, ...more }
      const reply = await app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
      return { status: reply.statusCode, json: reply.body.startsWith('{') ? reply.json() : undefined, body: reply.body }
    }
    return { ask, listen }
  }
  const user = (content: string) => ({ role: 'user', content })
  const outputs = ['c1', 'c2'].map((call_id) => ({ type: 'function_call_output', call_id, output: '' }))
  const typesOf = ({ output }: Json) => output.map(({ type }: Json) => type)

  it('comes with the calls, and with the data of calls, in the place where it was', async () => {
    const { ask } = await make()
    const { json: first } = await ask('word', { reasoning: {} })
    expect(typesOf(first)).to.deep.equal(['reasoning', 'message', 'reasoning', 'function_call', 'function_call'])
    expect(first.output[0].summary).to.deep.equal([{ type: 'summary_text', text: 'I think' }])
    expect(first.output[2].summary).to.deep.equal([])
    const { json: next } = await ask([user('word'), ...first.output, ...outputs])
    expect(JSON.parse(textOf(next))).to.deep.equal([[['I think:A'], 'Well.', 'commentary', 'B', '']])
  })

  it('is sealed, not shown, where the client does not ask for its text', async () => {
    const { ask } = await make()
    const { json: first } = await ask('go')
    expect(typesOf(first)).to.deep.equal(['reasoning', 'function_call', 'function_call'])
    expect(first.output[0].summary).to.deep.equal([])
    const { json: next } = await ask([user('go'), ...first.output, ...outputs])
    expect(JSON.parse(textOf(next))).to.deep.equal([[['I think:A'], '', '', 'B', '']])
  })

  it('ends with its data in a stream', async () => {
    const { ask } = await make()
    const { body } = await ask('word', { reasoning: {}, stream: true }, '/compat')
    const events = readEvents(body) as Json[]
    const items = events.filter(
      ({ type, item }) => item?.type === 'reasoning' && type.startsWith('response.output_item'),
    )
    expect(items.map(({ type, item }) => [type, item.encrypted_content !== undefined])).to.deep.equal([
      ['response.output_item.added', false],
      ['response.output_item.done', true],
      ['response.output_item.added', true],
      ['response.output_item.done', true],
    ])
  })

  it('has no empty pieces in a stream, in responses and in chat', async () => {
    const { app } = await makeResponses({ adapters: ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter'] }, FILES)
    const streamed = async (path: string, body: object) => {
      const payload = { model: 'thinker', stream: true, ...body }
      return readEvents((await app.inject({ method: 'POST', url: path, payload })).body) as Json[]
    }
    const events = await streamed('/compat/responses', { input: 'word', tools, include, store: false, reasoning: {} })
    expect(events.flatMap(({ type, delta }) => (/(reason|text).*delta/.test(type) ? [delta] : []))).to.deep.equal([
      'I thi',
      'nk',
      'Well.',
    ])
    const chunks = await streamed('/compat/chat/completions', {
      messages: [user('word')],
      tools: [{ type: 'function', function: { name: 'step' } }],
    })
    expect(chunks.flatMap(({ choices }) => choices?.[0].delta.reasoning_content ?? [])).to.deep.equal(['I thi', 'nk'])
  })

  it('is sealed by the worker of a background response', async () => {
    const { ask } = await make()
    const { body } = await ask('go', { background: true, store: true, stream: true })
    const { output } = JSON.parse(
      body
        .split('\n')
        .findLast((line) => line.startsWith('data: {'))
        ?.slice(6) ?? '',
    ).response
    const { json: next } = await ask([user('go'), ...output, ...outputs])
    expect(JSON.parse(textOf(next))).to.deep.equal([[['I think:A'], '', '', 'B', '']])
  })

  it('is left out without its data, and where its answer does not follow', async () => {
    const { ask } = await make()
    const { json: first } = await ask('go')
    const [thought] = first.output
    const { encrypted_content: _sealed, ...bare } = thought
    const said = { role: 'assistant', content: 'hi' }
    const { json: next } = await ask([user('a'), bare, said, user('b'), thought, user('tell')])
    expect(JSON.parse(textOf(next))).to.deep.equal([[[], 'hi', '']])
  })

  it('can be opened by servers with the same secret, and by no other', async () => {
    const secretKey = 's'.repeat(32)
    const [one, same, other] = [await make({ secretKey }), await make({ secretKey }), await make()]
    const { json: first } = await one.ask('go')
    const next = [user('go'), ...first.output, ...outputs]
    expect((await same.ask(next)).status).to.equal(200)
    const refused = await other.ask(next)
    expect([refused.status, refused.json.error.param]).to.deep.equal([400, 'input[1].encrypted_content'])
  })

  it('gets 400 where it was cut or changed, and from another agent; /compat ignores it', async () => {
    const { ask } = await make()
    const { json: first } = await ask('go')
    const [thought, ...calls] = first.output
    const { encrypted_content: sealed } = thought
    for (const encrypted_content of [
      '',
      'AQ',
      sealed.slice(0, -4),
      `A${sealed.slice(1)}`,
      `${sealed.slice(0, -2)}AA`,
    ]) {
      const next = [user('go'), { ...thought, encrypted_content }, ...calls, ...outputs]
      const { status, json } = await ask(next)
      expect([status, json.error?.param], encrypted_content).to.deep.equal([400, 'input[1].encrypted_content'])
    }
    const { status, json } = await ask([user('go'), ...first.output, ...outputs], { model: 'other' })
    expect([status, json.error?.param]).to.deep.equal([400, 'input[1].encrypted_content'])
    const ignored = await ask([user('a'), { ...thought, encrypted_content: 'AQ' }, user('tell')], {}, '/compat')
    expect([ignored.status, textOf(ignored.json)]).to.deep.equal([200, '[]'])
  })

  it('gets 400 from another tenant', async () => {
    const keys = keysFile(['acme', 'globex'].map((tenant) => ({ name: tenant, tenant, scopes: ['run'] })))
    const { listen } = await make({ keys: 'keys.yml' }, { 'keys.yml': keys })
    const url = await listen()
    const ask = (tenant: string, input: unknown) => {
      const body = { model: 'thinker', input, tools, include, store: false }
      return new Visitor(url, tenant, tenant).ask('POST', '/v1/responses', body)
    }
    const { json: first } = await ask('acme', 'go')
    const next = [user('go'), ...first.output, ...outputs]
    expect((await ask('acme', next)).status).to.equal(200)
    const { status, json } = await ask('globex', next)
    expect([status, json.error.param]).to.deep.equal([400, 'input[1].encrypted_content'])
  })

  it('reaches the agent as it was where a chat client sends it back', async () => {
    const { app } = await makeResponses({ adapters: ['ChatCompatApiAdapter'] }, FILES)
    const messages = [user('a'), { role: 'assistant', content: 'hi', reasoning_content: 'I think' }, user('tell')]
    const payload = { model: 'thinker', messages }
    const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
    expect(JSON.parse(reply.json().choices[0].message.content)).to.deep.equal([[['I think:undefined'], 'hi', '']])
  })
})

describe('the phase of a message', () => {
  afterEach(closeServers)

  const asked = async () => {
    const { app } = await makeResponses({}, FILES)
    return async (input: unknown, more: object = {}, prefix = '/v1') => {
      const payload = { model: 'thinker', input, tools, ...more }
      return app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
    }
  }

  it('is commentary before calls of tools, and the final answer at the end, streamed or not', async () => {
    const ask = await asked()
    const phases = (output: Json[]) => output.flatMap(({ type, phase }) => (type === 'message' ? [phase] : []))
    const first = (await ask('word')).json()
    expect(phases(first.output)).to.deep.equal(['commentary'])
    const last = (await ask(outputs, { previous_response_id: first.id })).json()
    expect(phases(last.output)).to.deep.equal(['final_answer'])
    for (const [text, phase] of [
      ['word', 'commentary'],
      ['tell', 'final_answer'],
    ]) {
      const events = (await ask(text, { stream: true })).body.split('\n').filter((line) => line.startsWith('data: {'))
      const all = events.map((line) => JSON.parse(line.slice(6)))
      const done = all.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
      expect(phases(done)).to.deep.equal([phase])
      expect(phases(all.at(-1).response.output)).to.deep.equal([phase])
    }
  })

  it('is commentary before a question, in the stream and in both records', async () => {
    const { app } = await makeResponses({}, ASKING)
    const send = (url: string, payload: object) => app.inject({ method: 'POST', url, payload })
    const body = { model: 'asker', input: 'hi' }
    const record = (await send('/v1/responses', body)).json()
    const lines = (await send('/v1/responses', { ...body, stream: true })).body.split('\n')
    const events: Json[] = lines.flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    const { id } = events.at(-1).response
    const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
    const stored = (await app.inject(`/v1/responses/${id}`)).json()
    for (const output of [record.output, done, events.at(-1).response.output, stored.output]) {
      expect(output.map(({ phase, content }: Json) => [phase, content[0].text])).to.deep.equal([
        ['commentary', 'Well.'],
      ])
    }
    expect((await app.inject(`/compat/responses/${id}`)).body).to.not.include('phase')
  })

  it('of the input is stored, and reaches the agent', async () => {
    const ask = await asked()
    const said = { role: 'assistant', content: 'hi', phase: 'commentary' }
    const first = (await ask([{ role: 'user', content: 'a' }, said, { role: 'user', content: 'tell' }])).json()
    expect(JSON.parse(textOf(first))).to.deep.equal([[[], 'hi', 'commentary']])
    const next = (await ask('tell', { previous_response_id: first.id })).json()
    expect(JSON.parse(textOf(next))[0]).to.deep.equal([[], 'hi', 'commentary'])
  })

  it('is no part of answers under /compat', async () => {
    const ask = await asked()
    for (const stream of [false, true]) {
      expect((await ask('word', { stream }, '/compat')).body).to.not.include('phase')
    }
  })

  const outputs = ['c1', 'c2'].map((call_id) => ({ type: 'function_call_output', call_id, output: '' }))
})
