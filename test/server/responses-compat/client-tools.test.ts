import { expect } from 'chai'
import { type Json, makeResponses, RESPONSES, textOf } from '../../support/responses.ts'
import { killRunning, startCli } from '../../support/run-cli.ts'
import { closeServers } from '../../support/server.ts'
import { makeProject } from '../../support/temp-project.ts'

const WEATHER = { type: 'function', name: 'weather', description: 'Of a city', parameters: { type: 'object' } }
const USER = { role: 'user', content: 'Do I need an umbrella in Lima?' }

/**
 * `helper` calls `weather` of the client and `note` of its own in one step, then says what it knows;
 * `late` takes its time to list the same tool; `thinker` shows what it is given.
 */
const PROJECT = {
  'agents/helper.yml': `id: helper
modules:
  - { id: llm, module: script }
  - { id: tools, module: tools/local, config: { files: [tools/note.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/late.yml': `id: late
modules:
  - { id: llm, module: script }
  - { id: tools, module: late }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/late.ts': `import { setTimeout } from 'node:timers/promises'
import { defineModule, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Late', provides: [ToolProvider], create: () => ({
  listTools: () => setTimeout(30, [{ name: 'note', description: 'Notes.', parameters: { type: 'object' } }]),
  executeTool: async () => ({ text: 'noted' }) }) })`,
  'agents/thinker.yml': 'id: thinker\nmodules: [{ id: main, module: thinker }]',
  'tools/note.ts': `import { defineTool, Type } from 'agent-host'
const state = (globalThis.noted ??= { count: 0 })
export const note = defineTool({ description: 'Notes.', parameters: Type.Object({}), execute: () => { state.count++; return 'noted' } })`,
  // The script is a function of what the model is given, so that it is the same in any process.
  'modules/script.ts': `import { defineModule, LLM } from 'agent-host'
const called = (id, name, args) => ({ type: 'tool_call', call: { id, name, arguments: args } })
export default defineModule({ name: 'Script', provides: [LLM], create: () => ({
  async *generate({ messages, tools = [] }) {
    const results = messages.filter(({ role }) => role === 'tool').map(({ toolCallId, content }) => toolCallId + '=' + content)
    const isAsked = tools.some(({ name }) => name === 'weather')
    const last = messages.at(-1)
    if (last.role === 'user' && isAsked && results.length === 0) {
      yield { type: 'text', text: 'Let me see.' }
      yield called('w1', 'weather', { city: 'Lima' })
      if (last.content.includes('note')) yield called('n1', 'note', {})
      if (last.content.includes('both')) yield called('w2', 'weather', { city: 'Rome' })
      return yield { type: 'finish', reason: 'tool_calls' }
    } else if (last.role === 'tool' && results.length === 1 && messages.some(({ content }) => content.includes('again'))) {
      yield called('n1', 'note', {})
    } else yield { type: 'text', text: 'I know ' + results.join(' ') }
    yield { type: 'usage', usage: { inputTokens: 3, outputTokens: 2 } }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
  'modules/thinker.ts': `import { ConversationHistory, defineModule, ImageMessageHandler, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Thinker', provides: [TextMessageHandler, ImageMessageHandler], uses: { response: Response, history: ConversationHistory },
  create: ({ response, history }) => ({
    async handleImage({ mediaType, data }) { await response.respondText(mediaType + ' ' + (data instanceof URL ? data.href : data.length)) },
    async handleText(text, run) {
      if (text === 'options') return response.respondText(JSON.stringify(run.requestOptions))
      await response.respondReasoning('First ')
      await response.respondReasoning('this.')
      if (text === 'draw') await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) })
      else if (text === 'show') {
        await response.respondText('See ')
        await response.respondImage({ mediaType: 'image/png', data: new URL('https://example.test/a.png'), name: 'map' })
        await response.respondFile({ mediaType: 'text/plain', data: Buffer.from('note'), name: 'note.txt' })
        await response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) })
        await response.respondText('Done.')
      } else if (text === 'shown') {
        const shown = (await history.getHistory()).flatMap(({ attachments = [] }) => attachments)
        await response.respondText(shown.map(({ name, data }) => name + ' ' + (data instanceof URL ? data.href : data.length)).join())
      } else await response.respondText('Said: ' + text)
    } }) })`,
}

const output = (callId: string, text: string) => ({ type: 'function_call_output', call_id: callId, output: text })
const noted = (): number => (globalThis as { noted?: { count: number } }).noted?.count ?? 0

describe('responses with the tools of a client', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  const make = () => makeResponses({}, PROJECT)
  const helper = (input: unknown, more: object = {}) => ({ model: 'helper', input, tools: [WEATHER], ...more })

  it('complete with function_call items, and continue with outputs by previous_response_id', async () => {
    const { create, get } = await make()
    const waiting = await create([USER], helper([USER]))
    expect(waiting.status).to.equal('completed')
    const [message, call] = waiting.output
    expect(message.content[0].text).to.equal('Let me see.')
    const { id, ...fields } = call
    expect(fields).to.deep.equal({
      type: 'function_call',
      call_id: 'w1',
      name: 'weather',
      arguments: '{"city":"Lima"}',
      status: 'completed',
    })
    expect(id).to.match(/^fc_/)
    const ended = await create('', helper([output('w1', 'rain')], { previous_response_id: waiting.id }))
    expect(textOf(ended)).to.equal('I know w1=rain')
    expect(await get(waiting.id)).to.deep.equal(waiting)
    // The history has all of it, and may fork.
    const later = await create('', helper('And now?', { previous_response_id: ended.id, tools: [] }))
    expect(textOf(later)).to.equal('I know w1=rain')
    const fork = await create('', helper([output('w1', 'sun')], { previous_response_id: waiting.id }))
    expect(textOf(fork)).to.equal('I know w1=sun')
  })

  it('continue with the whole history, stored or not', async () => {
    const { create } = await make()
    for (const store of [true, false]) {
      const waiting = await create('', helper([USER], { store }))
      const input = [USER, ...waiting.output, output('w1', 'rain')]
      expect(textOf(await create('', helper(input, { store })))).to.equal('I know w1=rain')
    }
  })

  it('stream calls as events, identically when joined', async () => {
    const { stream, join } = await make()
    const events = await stream('', helper([USER]))
    const call = events.filter(({ output_index }) => output_index === 1)
    expect(call.map(({ type, delta, item }) => [type, delta ?? item?.status])).to.deep.equal([
      ['response.output_item.added', 'in_progress'],
      ['response.function_call_arguments.delta', '{"city":"Lima"}'],
      ['response.function_call_arguments.done', undefined],
      ['response.output_item.done', 'completed'],
    ])
    expect(await join(events[0].response.id)).to.deep.equal(events)
  })

  it('run their own calls of the same step, once, and keep them', async () => {
    const { create } = await make()
    const before = noted()
    const more = { include: ['agent.tool_calls'] }
    const waiting = await create('', helper([{ ...USER, content: 'weather and note' }], more))
    const own = waiting.output.find(({ type }: Json) => type === 'mcp_call')
    expect(own).to.deep.include({ server_label: 'tools', name: 'note', output: 'noted', status: 'completed' })
    const ended = await create('', helper([output('w1', 'rain')], { previous_response_id: waiting.id }))
    expect(textOf(ended)).to.include('w1=rain').and.include('n1=noted')
    expect(noted()).to.equal(before + 1)
  })

  it('run their own calls of the same step once, even if nothing is stored', async () => {
    const { create } = await make()
    const before = noted()
    const more = { store: false, include: ['agent.tool_calls'] }
    const user = { ...USER, content: 'weather and note, again if need be' }
    const waiting = await create('', helper([user], more))
    expect(waiting.output.map(({ type }: Json) => type)).to.deep.equal(['message', 'function_call'])
    expect(noted()).to.equal(before)
    const second = await create('', helper([user, ...waiting.output, output('w1', 'rain')], more))
    expect(second.output.map(({ type }: Json) => type)).to.deep.equal(['mcp_call', 'message'])
    expect(textOf(second)).to.equal('I know w1=rain n1=noted')
    expect(noted()).to.equal(before + 1)
    // The call and its result stand in the output, which the client sends again.
    const history = [user, ...waiting.output, output('w1', 'rain'), ...second.output, { role: 'user', content: 'And?' }]
    expect(textOf(await create('', helper(history, more)))).to.match(/^I know w1=rain \S+=noted$/)
    expect(noted()).to.equal(before + 1)
  })

  it('are rejected before a stream starts if a name is taken by the agent', async () => {
    const { inject } = await make()
    const tools = [{ ...WEATHER, name: 'note' }]
    for (const model of ['helper', 'late']) {
      for (const store of [true, false]) {
        const refused = await inject('POST', '', helper([USER], { model, store, tools, stream: true }))
        const detail = `tools: agent '${model}' has a tool 'note' of its own. Rename yours.`
        expect([refused.statusCode, refused.json()]).to.deep.equal([400, { detail }])
      }
    }
  })

  it('run nothing twice if a client resends the whole history of a stored response', async () => {
    const { create } = await make()
    const before = noted()
    const more = { include: ['agent.tool_calls'] }
    const user = { ...USER, content: 'weather and note' }
    const waiting = await create('', helper([user], more))
    expect(waiting.output.map(({ type }: Json) => type)).to.deep.equal(['message', 'function_call', 'mcp_call'])
    const history = [user, ...waiting.output, output('w1', 'rain')]
    const ended = await create('', helper(history, more))
    expect(textOf(ended)).to.match(/^I know \S+=noted w1=rain$/)
    const next = await create('', helper([...history, ...ended.output, { role: 'user', content: 'And?' }], more))
    expect(textOf(next)).to.match(/^I know \S+=noted w1=rain$/)
    expect(noted()).to.equal(before + 1)
  })

  it('tell the model which own calls of a history failed, and which were cut off', async () => {
    const { create } = await make()
    const call = { type: 'mcp_call', server_label: 'tools', name: 'note', arguments: '{}', output: null, error: null }
    const calls = [
      { ...call, id: 'mcp_1', output: 'noted', status: 'completed' },
      { ...call, id: 'mcp_2', error: 'no room', status: 'failed' },
      { ...call, id: 'mcp_3', status: 'incomplete' },
    ]
    const before = noted()
    const text = textOf(await create('', helper([USER, ...calls, { role: 'user', content: 'And?' }])))
    expect(text.replace(/\S+=/g, '=')).to.equal(
      'I know =noted =no room =The call was cut off; its result is not known.',
    )
    expect(new Set(text.match(/\S+(?==)/g)).size).to.equal(3)
    expect(noted()).to.equal(before)
  })

  it('keep waiting for calls without an output', async () => {
    const { create } = await make()
    const waiting = await create('', helper([{ ...USER, content: 'both' }]))
    const half = await create('', helper([output('w2', 'sun')], { previous_response_id: waiting.id }))
    expect(half.output.map(({ call_id }: Json) => call_id)).to.deep.equal(['w1'])
    const ended = await create('', helper([output('w1', 'rain')], { previous_response_id: half.id }))
    expect(textOf(ended)).to.equal('I know w2=sun w1=rain')
  })

  it('reject outputs of unknown calls, and messages while calls are open', async () => {
    const { create, inject } = await make()
    const { id } = await create('', helper([USER]))
    const refusal = async (body: object) => {
      const reply = await inject('POST', '', body)
      return [reply.statusCode, reply.json().detail]
    }
    const more = { previous_response_id: id }
    expect(await refusal(helper([output('w9', 'x')], more))).to.deep.equal([
      400,
      "input: no call 'w9' waits for an output",
    ])
    const open = "input: no function_call_output for 'w1'; send one for each open call"
    expect(await refusal(helper('Never mind.', more))).to.deep.equal([400, open])
    const call = { type: 'function_call', call_id: 'w1', name: 'weather', arguments: '{}' }
    expect(await refusal(helper([USER, call]))).to.deep.equal([400, open])
    expect(await refusal(helper([USER], { tools: [{ ...WEATHER, name: 'note' }], stream: false }))).to.deep.equal([
      400,
      "tools: agent 'helper' has a tool 'note' of its own. Rename yours.",
    ])
    const both = await create('', helper([output('w1', 'rain'), { role: 'user', content: 'And?' }], more))
    expect(textOf(both)).to.equal('I know w1=rain')
  })

  it('continue after kill -9 between the rounds, 20 of 20', async () => {
    const { dir } = await makeProject(PROJECT)
    const start = async () => {
      const server = startCli(['serve', '--adapter', 'ResponsesCompatApiAdapter', '--port', '0'], { cwd: dir })
      const [, address] = await server.printed(/listening at (http:\/\/[\d.:]+)/)
      const ask = async (body: object): Promise<Json> => {
        const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
        return (await fetch(address + RESPONSES, init)).json()
      }
      return { ask, stop: server.stop }
    }
    const first = await start()
    const waiting = await Promise.all(Array.from({ length: 20 }, () => first.ask(helper([USER]))))
    await first.stop('SIGKILL')
    const second = await start()
    const ended = await Promise.all(
      waiting.map(({ id }, n) => second.ask(helper([output('w1', `rain ${n}`)], { previous_response_id: id }))),
    )
    expect(ended.map(textOf)).to.deep.equal(waiting.map((_, n) => `I know w1=rain ${n}`))
  })
})

describe('other options of a request', () => {
  afterEach(closeServers)
  const make = () => makeResponses({}, PROJECT)

  it('pass on the options that the client set, and no others', async () => {
    const { create } = await make()
    const options = async (more: object) =>
      JSON.parse(textOf(await create('options', { model: 'thinker', ...more }))) as object
    expect(await options({})).to.deep.equal({})
    const format = { type: 'json_schema', name: 'a', schema: { type: 'object' } }
    const more = { temperature: 0, top_p: 0.5, max_output_tokens: 9, reasoning: { effort: 'low' }, text: { format } }
    expect(await options(more)).to.deep.equal({
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 9,
      reasoningEffort: 'low',
      responseSchema: { type: 'object' },
    })
  })

  it('never answer with prose if the client requested data', async () => {
    const { inject } = await make()
    const format = { type: 'json_schema', name: 'a', schema: { type: 'object', required: ['b'] } }
    const reply = await inject('POST', '', { model: 'helper', input: 'hi', text: { format } })
    expect([reply.statusCode, reply.json().detail]).to.deep.equal([
      500,
      'The model did not answer as the requested schema says: the answer is not JSON.',
    ])
  })

  it('show reasoning on request', async () => {
    const { create, stream } = await make()
    expect((await create('hi', { model: 'thinker' })).output).to.have.length(1)
    const events = await stream('hi', { model: 'thinker', reasoning: { summary: 'auto' } })
    const [reasoning, message] = events.at(-2).response.output
    expect(reasoning.summary).to.deep.equal([{ type: 'summary_text', text: 'First this.' }])
    expect(message.content[0].text).to.equal('Said: hi')
    const types = events.filter(({ output_index }) => output_index === 0).map(({ type }) => type.slice(9))
    expect(types).to.deep.equal([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ])
  })

  it('send images to agents that accept them, and receive theirs', async () => {
    const { create, get, inject } = await make()
    const image = (image_url: string) => [{ role: 'user', content: [{ type: 'input_image', image_url }] }]
    const seen = async (url: string) => textOf(await create(image(url), { model: 'thinker' }))
    expect(await seen('data:image/png;base64,AQIDBA==')).to.equal('image/png 4')
    expect(await seen('https://example.test/a.png')).to.equal('image/png https://example.test/a.png')
    const drawn = await create('draw', { model: 'thinker' })
    expect(drawn.output.map(({ id: _, ...item }: Json) => item)).to.deep.equal([
      { type: 'image_generation_call', status: 'completed', result: 'AQID' },
    ])
    expect(await get(drawn.id)).to.deep.equal(drawn)
    const refused = await inject('POST', '', { model: 'talk', input: image('data:image/png;base64,AQID') })
    expect([refused.statusCode, refused.json().detail]).to.deep.equal([
      400,
      "The last user message has an attachment of the type 'image/png', and agent 'talk' does not take that: it takes only text.",
    ])
  })

  it('receive images as items, other attachments as links, and the agent sees them in the next turn', async () => {
    const { create, stream, get } = await make()
    const shown = await create('show', { model: 'thinker' })
    const output = [
      ['message', 'See \n![map](https://example.test/a.png)\n\n[note.txt](data:text/plain;base64,bm90ZQ==)\n'],
      ['image_generation_call', 'AQID'],
      ['message', 'Done.'],
    ]
    const read = ({ output: items }: Json) =>
      items.map(({ type, result, content }: Json) => [type, result ?? content[0].text])
    expect(read(shown)).to.deep.equal(output)
    expect(await get(shown.id)).to.deep.equal(shown)
    const events = await stream('show', { model: 'thinker' })
    expect(read(events.at(-2)?.response)).to.deep.equal(output)
    const next = await create('shown', { model: 'thinker', previous_response_id: shown.id })
    expect(textOf(next)).to.equal('map https://example.test/a.png,note.txt 4,undefined 3')
  })
})
