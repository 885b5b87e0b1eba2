import { expect } from 'chai'
import OpenAI from 'openai'
import { openSocket } from '../../support/response-socket.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

/**
 * Asked to summarize it answers `SUMMARY <number of characters>`; asked to `call <tool>` it calls a tool of the client; otherwise it tells what it was given.
 */
const PROJECT = {
  'agents/scribe.yml': `id: scribe
modules:
  - { id: llm, module: scribe }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/scribe.ts': `import { defineModule, LLM } from 'agent-host'
globalThis.summaries = []
export default defineModule({ name: 'Scribe', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const isSummary = messages[0].role === 'system' && messages[0].content.startsWith('Summarize')
    const { role, content } = messages.at(-1)
    const [, tool] = /^call (\\w+)/.exec(content) ?? []
    if (isSummary) globalThis.summaries.push(messages[1].content)
    if (!isSummary && role === 'user' && tool) {
      const args = tool === 'patch' ? { input: 'x' } : {}
      yield { type: 'tool_call', call: { id: 'c' + messages.length, name: tool, arguments: args } }
      return yield { type: 'finish', reason: 'tool_calls' }
    }
    yield { type: 'text', text: isSummary ? 'SUMMARY' : JSON.stringify(messages.map(({ role, content, toolCalls }) => role + ': ' + (toolCalls ? toolCalls[0].name : content).slice(0, 60))) }
    yield { type: 'usage', usage: { inputTokens: 7, outputTokens: 3 } }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
}
const SUMMARY = 'system: Summary of the conversation so far:\nSUMMARY'
const tools = [
  { type: 'function', name: 'look', parameters: { type: 'object' } },
  { type: 'custom', name: 'patch' },
]
const user = (content: string) => ({ role: 'user', content })
const trigger = { type: 'compaction_trigger' }
const summaries = (): string[] => Reflect.get(globalThis, 'summaries')

describe('compaction within responses', () => {
  afterEach(closeServers)

  const make = async (options = {}) => {
    const server = await makeResponses(options, PROJECT)
    const send = async (input: unknown, more: object = {}, prefix = '/v1') => {
      const payload = { model: 'scribe', input, tools, ...more }
      const reply = await server.app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
      return {
        status: reply.statusCode,
        body: reply.body,
        ignored: reply.headers['x-ignored'],
        json: () => reply.json(),
      }
    }
    const ask = async (...args: Parameters<typeof send>): Promise<Json> => (await send(...args)).json()
    return { ...server, send, ask }
  }
  const told = (record: Json) => JSON.parse(textOf(record))
  const typesOf = ({ output }: Json) => output.map(({ type }: Json) => type)
  const callOf = ({ output }: Json) => output.find(({ call_id }: Json) => call_id !== undefined)
  const outputOf = ({ type, call_id }: Json) => ({ type: `${type}_output`, call_id, output: 'seen' })

  for (const prefix of ['/v1', '/compat']) {
    it(`answers a trigger with one item, which stands for what was before it, under ${prefix}`, async () => {
      const { ask, send } = await make()
      const input = [{ role: 'developer', content: 'Be kind.' }, user('a'), { role: 'assistant', content: 'b' }]
      const first = await ask([...input, trigger], { store: false }, prefix)
      expect(typesOf(first)).to.deep.equal(['compaction'])
      expect([first.status, first.usage.total_tokens]).to.deep.equal(['completed', 10])
      const { ignored, json } = await send([...input, ...first.output, user('c')], { store: false }, prefix)
      expect(ignored).to.equal(undefined)
      expect(told(json())).to.deep.equal(['system: Be kind.', SUMMARY, 'user: c'])
      expect(told(await ask([...first.output, user('c')], {}, prefix))).to.deep.equal([
        'system: Be kind.',
        SUMMARY,
        'user: c',
      ])
    })
  }

  it('is stored: responses that continue it begin with the summary, and its conversation keeps its items', async () => {
    const { ask, app } = await make()
    const conversation = (await app.inject({ method: 'POST', url: '/v1/conversations', payload: {} })).json().id
    await ask('one', { conversation })
    const compacted = await ask([trigger], { conversation })
    const stored = (await app.inject({ url: `/v1/responses/${compacted.id}` })).json()
    expect(stored.output).to.deep.equal(compacted.output)
    const next = await ask('two', { conversation })
    expect(told(next)).to.deep.equal([SUMMARY, 'user: two'])
    expect(told(await ask('three', { previous_response_id: next.id }))[0]).to.equal(SUMMARY)
    const { data } = (await app.inject({ url: `/v1/conversations/${conversation}/items?order=asc` })).json()
    const shown = data.map(({ type }: Json) => type)
    expect(shown).to.deep.equal(['message', 'message', 'compaction_trigger', 'compaction', 'message', 'message'])
    await app.inject({ method: 'DELETE', url: `/v1/conversations/${conversation}/items/${data[5].id}` })
    expect(told(await ask('four', { conversation })).slice(0, 2)).to.deep.equal([SUMMARY, 'user: two'])
  })

  it('is an item like any other: read and deleted by its id, a place to go on listing from, and referred to', async () => {
    const { ask, app } = await make()
    const conversation = (await app.inject({ method: 'POST', url: '/v1/conversations', payload: {} })).json().id
    await ask('one', { conversation })
    const [{ id }] = (await ask([trigger], { conversation })).output
    await ask('two', { conversation })
    const items = `/v1/conversations/${conversation}/items`
    const { data, has_more } = (await app.inject({ url: `${items}?order=asc&after=${id}` })).json()
    expect([data.map(({ type }: Json) => type), has_more]).to.deep.equal([['message', 'message'], false])
    expect((await app.inject({ url: `${items}/${id}` })).json().type).to.equal('compaction')
    expect(told(await ask([{ type: 'item_reference', id }, user('c')]))).to.deep.equal([SUMMARY, 'user: c'])
    expect((await app.inject({ method: 'DELETE', url: `${items}/${id}` })).statusCode).to.equal(200)
    expect(told(await ask('three', { conversation }))[0]).to.equal('user: two')
  })

  it('is streamed with its events, to the official client and over a WebSocket alike', async () => {
    const { listen } = await make()
    const url = await listen()
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const input = [user('a'), trigger] as never
    const events = []
    for await (const event of await client.responses.create({ model: 'scribe', input, stream: true }))
      events.push(event)
    const types = events.map(({ type }): string => type)
    expect(types).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.compaction.compacting',
      'response.output_item.done',
      'response.completed',
    ])
    const last = events.at(-1)
    expect(last?.type === 'response.completed' && typesOf(last.response)).to.deep.equal(['compaction'])
    const { ask } = await openSocket(url)
    const frames = await ask({ type: 'response.create', model: 'scribe', input })
    expect(frames.map(({ type }: Json) => type)).to.deep.equal(types)
  })

  it('is continued by its id over a WebSocket, stored or not', async () => {
    const { listen } = await make()
    const { ask } = await openSocket(await listen())
    const send = async (more: object): Promise<Json> =>
      (await ask({ model: 'scribe', tools, ...more })).at(-1)?.response
    for (const store of [true, false]) {
      const first = await send({ input: [user('call look'), trigger], store })
      const second = await send({ input: [user('call look')], previous_response_id: first.id, store })
      const { id } = await send({ input: [trigger], previous_response_id: second.id, store })
      const done = [outputOf(callOf(second))]
      const { output } = await send({ input: done, previous_response_id: id, store })
      const seen = JSON.parse(output[0].content[0].text)
      expect([seen[0], ...seen.slice(-3)]).to.deep.equal([SUMMARY, 'user: call look', 'assistant: look', 'tool: seen'])
    }
  })

  for (const [name, kind] of [
    ['look', 'function_call'],
    ['patch', 'custom_tool_call'],
  ]) {
    it(`keeps an open ${kind}, stored or not`, async () => {
      const { ask, send } = await make()
      const first = await ask(`call ${name}`)
      const call = callOf(first)
      expect(call.type).to.equal(kind)
      const compacted = await ask([trigger], { previous_response_id: first.id })
      const expected = [SUMMARY, `user: call ${name}`, `assistant: ${name}`, 'tool: seen']
      const next = await ask([outputOf(call)], { previous_response_id: compacted.id })
      expect(told(next)).to.deep.equal(expected)
      const whole = await ask([user(`call ${name}`), call, trigger], { store: false })
      const after = await ask([user(`call ${name}`), call, ...whole.output, outputOf(call)], { store: false })
      expect(told(after)).to.deep.equal(expected)
      const other = kind === 'function_call' ? 'custom_tool_call' : 'function_call'
      const wrong = [...whole.output, { ...outputOf(call), type: `${other}_output` }]
      const { status, json } = await send(wrong, { store: false })
      expect([status, json().error.param]).to.deep.equal([400, 'input[1].type'])
    })
  }

  it('keeps a turn without an answer: the item alone continues it', async () => {
    const { ask, send } = await make()
    const call = { type: 'function_call', call_id: 'c2', name: 'look', arguments: '{}' }
    const turn = [user('a'), { role: 'assistant', content: 'b' }, user('call look'), call, outputOf(call)]
    const { output } = await ask([...turn, trigger], { store: false })
    const expected = [SUMMARY, 'user: call look', 'assistant: look', 'tool: seen']
    expect(told(await ask(output, { store: false }))).to.deep.equal(expected)
    expect(told(await ask([user('a'), user('call look'), ...output], { store: false }))).to.deep.equal(expected)
    const asked = await ask([...turn, user('c'), trigger], { store: false })
    expect(told(await ask(asked.output, { store: false }))).to.deep.equal([SUMMARY, 'user: c'])
    const answered = await ask([user('a'), { role: 'assistant', content: 'b' }, trigger], { store: false })
    const { status, json } = await send(answered.output, { store: false })
    expect([status, json().error.param]).to.deep.equal([400, 'input'])
  })

  describe('of a conversation above the threshold of a request', () => {
    const long = 'long '.repeat(200)
    const context_management = [{ type: 'compaction', compact_threshold: 100 }]

    it('counts a token for every four bytes', async () => {
      const { ask } = await make()
      const first = await ask('x'.repeat(100))
      for (const [text, types] of [
        ['é'.repeat(80), ['message']],
        ['語'.repeat(80), ['compaction', 'message']],
      ] as const) {
        const answered = await ask(text, { context_management, previous_response_id: first.id })
        expect(typesOf(answered)).to.deep.equal(types)
      }
    })

    for (const stream of [false, true]) {
      it(`comes before the answer, ${stream ? 'streamed' : 'in one piece'}; turns before it are no longer sent`, async () => {
        const { ask, send } = await make()
        const first = await ask(long)
        const more = { context_management, previous_response_id: first.id, stream }
        const { body, ignored } = await send('now', more)
        expect(ignored).to.equal(undefined)
        const lines = body.split('\n').filter((line) => line.startsWith('data: {'))
        const record = stream ? JSON.parse(lines.at(-1)?.slice(6) ?? '').response : JSON.parse(body)
        expect(typesOf(record)).to.deep.equal(['compaction', 'message'])
        expect(told(record)).to.deep.equal([SUMMARY, 'user: now'])
        expect(record.usage.total_tokens).to.equal(20)
        expect(summaries().at(-1)).to.include('user: long long')
        const next = await ask('then', { context_management, previous_response_id: record.id })
        expect(typesOf(next)).to.deep.equal(['message'])
        expect(told(next).map((text: string) => text.slice(0, 20))).to.deep.equal([
          SUMMARY.slice(0, 20),
          'user: now',
          'assistant: ["system:',
          'user: then',
        ])
        const kept = [user(long), ...first.output, user('now'), ...record.output, user('then')]
        expect(told(await ask(kept, { store: false })).slice(0, 2)).to.deep.equal([SUMMARY, 'user: now'])
      })
    }

    it('keeps the last step of a long turn, with its open calls', async () => {
      const { ask } = await make()
      const done = [
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: long },
        { type: 'function_call', call_id: 'b', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'b', output: 'short' },
      ]
      const record = await ask([user('go'), ...done], { store: false, context_management })
      expect(told(record)).to.deep.equal([SUMMARY, 'user: go', 'assistant: look', 'tool: short'])
      const first = await ask([user(long), { role: 'assistant', content: 'x' }, user('call look')])
      const [call, more] = [callOf(first), { context_management, previous_response_id: first.id }]
      const next = await ask([outputOf(call)], more)
      expect(told(next)).to.deep.equal([SUMMARY, 'user: call look', 'assistant: look', 'tool: seen'])
    })

    it('is part of a background response, and of its record while a worker runs it', async () => {
      const { ask, app } = await make()
      const first = await ask(long)
      const more = { context_management, previous_response_id: first.id, background: true, stream: true }
      const { id } = JSON.parse(
        (
          await app.inject({
            method: 'POST',
            url: '/v1/responses',
            payload: { model: 'scribe', input: 'now', ...more },
          })
        ).body
          .split('\n')
          .findLast((line: string) => line.startsWith('data: {'))
          ?.slice(6) ?? '',
      ).response
      const record = (await app.inject({ url: `/v1/responses/${id}` })).json()
      expect(typesOf(record)).to.deep.equal(['compaction', 'message'])
      expect(told(record)).to.deep.equal([SUMMARY, 'user: now'])
    })

    it('does not happen below it, without one, or where nothing stands before the question', async () => {
      const { ask } = await make()
      const first = await ask('short')
      for (const [input, more] of [
        ['now', { previous_response_id: first.id }],
        [long, {}],
      ] as const) {
        expect(typesOf(await ask(input, { context_management, ...more }))).to.deep.equal(['message'])
      }
      const { id } = await ask(long)
      const without = { context_management: [{ type: 'compaction' }], previous_response_id: id }
      expect(typesOf(await ask('now', without))).to.deep.equal(['message'])
    })

    it('asks no model for a request that is refused', async () => {
      const { ask, send } = await make()
      const { id } = await ask(long)
      const before = summaries().length
      const twice = [...tools, ...tools]
      const { status } = await send('now', { context_management, previous_response_id: id, tools: twice })
      expect([status, summaries().length]).to.deep.equal([400, before])
    })
  })

  it('takes no items of another server', async () => {
    const [one, other] = [await make(), await make()]
    const { output } = await one.ask([user('a'), trigger])
    const { status, json } = await other.send([...output, user('b')])
    expect([status, json().error.param]).to.deep.equal([400, 'input[0].encrypted_content'])
    const added = await other.app.inject({ method: 'POST', url: '/v1/conversations', payload: { items: output } })
    expect([added.statusCode, added.json().error.param]).to.deep.equal([400, 'items[0].encrypted_content'])
  })

  for (const [what, input, more, param] of [
    [
      'a threshold of 0',
      'a',
      { context_management: [{ type: 'compaction', compact_threshold: 0 }] },
      'context_management[0].compact_threshold',
    ],
    ['a strategy that is not known', 'a', { context_management: [{ type: 'x' }] }, 'context_management[0].type'],
    ['a trigger before other items', [trigger, user('a')], {}, 'input[0]'],
    ['a trigger without a user message', [trigger], {}, 'input'],
    ['a compaction without content', [{ type: 'compaction' }, user('a')], {}, 'input[0].encrypted_content'],
  ] as const) {
    it(`gets 400 for ${what}`, async () => {
      const { send } = await make()
      const { status, json } = await send(input, more)
      expect([status, json().error.param]).to.deep.equal([400, param])
    })
  }

  it('leaves out what cannot be used under /compat, and names it', async () => {
    const { send } = await make()
    const unknown = { context_management: [{ type: 'x', compact_threshold: 0 }] }
    for (const [input, more, named] of [
      ['a', unknown, 'context_management'],
      ['a', { context_management: null }, undefined],
      [[trigger, user('a')], {}, 'input[0] (compaction_trigger)'],
    ] as const) {
      const { status, ignored } = await send(input, more, '/compat')
      expect([status, ignored]).to.deep.equal([200, named])
    }
  })
})
