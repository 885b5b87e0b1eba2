import { expect } from 'chai'
import { measureCpuTime } from '../../support/cpu-time.ts'
import { modelAgent } from '../../support/model-agent.ts'
import { type Json, makeResponses, RESPONSES_PROJECT, textOf } from '../../support/responses.ts'
import { startResponses } from '../../support/responses-process.ts'
import { killRunning } from '../../support/run-cli.ts'
import { closeServers, readEvents } from '../../support/server.ts'
import { SHOP_MODULES } from '../../support/shop.ts'
import { makeProject } from '../../support/temp-project.ts'

/** Its model calls what the user says, `<tool> <arguments>`; after results it tells them, and `tools` shows what it was given. */
const FILES = {
  ...modelAgent(
    'caller',
    `    const last = messages.at(-1)
    const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls)
    if (last.content === 'tools') yield { type: 'text', text: JSON.stringify(tools) }
    else if (last.role === 'user') {
      const [, name, input] = /^(\\S+) (.*)$/s.exec(last.content)
      yield { type: 'tool_call', call: { id: 'c' + messages.length, name, arguments: JSON.parse(input) } }
      return yield { type: 'finish', reason: 'tool_calls' }
    } else if (last.isError && !last.content.includes('again')) {
      yield { type: 'tool_call', call: { id: 'r1', name: 'sum', arguments: { input: '1+2' } } }
      return yield { type: 'finish', reason: 'tool_calls' }
    } else yield { type: 'text', text: JSON.stringify([calls.map(({ name, arguments: args }) => [name, args]), messages.filter(({ role }) => role === 'tool').map(({ content }) => content)]) }
    yield { type: 'finish', reason: 'stop' }`,
  ),
}

/** Its model pays, which needs an approval, and patches at once; after results it tells them. */
const PAYING = {
  ...SHOP_MODULES,
  'agents/payer.yml': `id: payer
modules:
  - { id: llm, module: paying }
  - { id: tools, module: pay }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/paying.ts': `import { defineModule, LLM } from 'agent-host'
export default defineModule({ name: 'Paying', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    if (results.length > 0) yield { type: 'text', text: results.join(', ') }
    else {
      yield { type: 'tool_call', call: { id: 'c1', name: 'pay', arguments: { amount: 9 } } }
      yield { type: 'tool_call', call: { id: 'c2', name: 'apply_patch', arguments: { input: 'x' } } }
    }
    yield { type: 'finish', reason: results.length > 0 ? 'stop' : 'tool_calls' }
  } }) })`,
}

const patch = { type: 'custom', name: 'apply_patch', description: 'Patches.', format: { type: 'text' } }
const sum = { type: 'custom', name: 'sum', format: { type: 'grammar', syntax: 'regex', definition: '\\d+\\+\\d+' } }
const lark = { type: 'custom', name: 'lark', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } }
const crm = {
  type: 'namespace',
  name: 'crm',
  description: 'Customers.',
  tools: [{ type: 'function', name: 'find', description: 'Finds one.', parameters: { type: 'object' } }, patch],
}
const tools = [patch, sum, lark, crm]

describe('custom tools and namespaces of a client', () => {
  afterEach(closeServers)
  afterEach(killRunning)

  const makeAsk = async () => {
    const { app } = await makeResponses({}, FILES)
    return async (input: unknown, more: object = {}, prefix = '/v1') => {
      const payload = { model: 'caller', input, tools, ...more }
      const reply = await app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
      return {
        status: reply.statusCode,
        ignored: reply.headers['x-ignored'],
        body: reply.body,
        json: () => reply.json(),
      }
    }
  }
  const callIn = ({ output }: Json) => output.find(({ call_id }: Json) => call_id !== undefined)

  it('are functions for the model, a namespace before their name', async () => {
    const ask = await makeAsk()
    const { ignored, json } = await ask('tools')
    expect(ignored).to.equal(undefined)
    const shown = JSON.parse(textOf(json()))
    expect(shown.map(({ name }: Json) => name)).to.deep.equal([
      'apply_patch',
      'sum',
      'lark',
      'crm__find',
      'crm__apply_patch',
    ])
    expect(shown[0].parameters).to.deep.include({ required: ['input'] })
    expect(shown[2].description).to.equal('The input must be a text of this Lark grammar:\nstart: "a"')
    expect(shown[3].description).to.equal('Customers.\n\nFinds one.')
    const long = { ...crm, name: 'n'.repeat(80) }
    const [cut] = JSON.parse(textOf((await ask('tools', { tools: [long] })).json()))
    expect(cut.name).to.match(/^n{55}_[0-9a-f]{8}$/)
  })

  for (const prefix of ['/v1', '/compat']) {
    it(`are called by items of their kind, and continue with outputs of it, under ${prefix}`, async () => {
      const ask = await makeAsk()
      const text = '*** Begin Patch'
      const first = (await ask(`apply_patch ${JSON.stringify({ input: text })}`, {}, prefix)).json()
      const { id, ...call } = callIn(first)
      expect(id).to.match(/^ctc_/)
      const custom = { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: text }
      expect(call).to.deep.equal({ ...custom, status: 'completed' })
      const output = { type: 'custom_tool_call_output', call_id: 'c1', output: 'done' }
      const next = (await ask([output], { previous_response_id: first.id }, prefix)).json()
      const said = [[['apply_patch', { input: text }]], ['done']]
      expect(JSON.parse(textOf(next))).to.deep.equal(said)
      const whole = [{ role: 'user', content: 'go' }, custom, output]
      expect(JSON.parse(textOf((await ask(whole, { store: false }, prefix)).json()))).to.deep.equal(said)
    })

    it(`of a namespace keep their name on the wire, under ${prefix}`, async () => {
      const ask = await makeAsk()
      const first = (await ask('crm__find {"id":7}', {}, prefix)).json()
      const { id: _id, ...call } = callIn(first)
      const found = { type: 'function_call', call_id: 'c1', name: 'find', namespace: 'crm', arguments: '{"id":7}' }
      expect(call).to.deep.equal({ ...found, status: 'completed' })
      const output = { type: 'function_call_output', call_id: 'c1', output: 'Ann' }
      const whole = [{ role: 'user', content: 'go' }, found, output]
      const said = [[['crm__find', { id: 7 }]], ['Ann']]
      expect(JSON.parse(textOf((await ask(whole, {}, prefix)).json()))).to.deep.equal(said)
      const custom = callIn((await ask('crm__apply_patch {"input":"x"}', {}, prefix)).json())
      expect(custom).to.deep.include({ type: 'custom_tool_call', name: 'apply_patch', namespace: 'crm', input: 'x' })
    })
  }

  it('wait in the store when the server is killed between two rounds: another continues', async () => {
    const { dir } = await makeProject({ ...RESPONSES_PROJECT, ...FILES })
    const first = await startResponses(dir)
    const payload = { model: 'caller', input: 'crm__apply_patch {"input":"x"}', tools }
    const { json: waiting } = await first.ask('', payload)
    await first.stop('SIGKILL')
    const second = await startResponses(dir)
    const input = [{ type: 'custom_tool_call_output', call_id: 'c1', output: 'done' }]
    const { json } = await second.ask('', { model: 'caller', input, tools, previous_response_id: waiting.id })
    expect(JSON.parse(textOf(json))).to.deep.equal([[['crm__apply_patch', { input: 'x' }]], ['done']])
  })

  it('wait beside a call that needs an approval: both are answered by one request, or the call first', async () => {
    const { app, project } = await makeResponses({}, { ...FILES, ...PAYING })
    const send = async (url: string, payload: object) => (await app.inject({ method: 'POST', url, payload })).json()
    const ask = (input: unknown, more: object = {}) =>
      send('/v1/responses', { model: 'payer', input, tools: [patch], ...more })
    const output = { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' }
    const approvalIn = (record: Json) => record.output.find(({ type }: Json) => type === 'mcp_approval_request')
    const approving = (record: Json) => {
      return { type: 'mcp_approval_response', approval_request_id: approvalIn(record).id, approve: true }
    }
    const first = await ask('go')
    expect(callIn(first)).to.deep.include({ type: 'custom_tool_call', name: 'apply_patch', input: 'x' })
    const both = await ask([approving(first), output], { previous_response_id: first.id })
    expect(textOf(both)).to.equal('pay 9, done')
    const second = await ask('go')
    const open = await ask([output], { previous_response_id: second.id })
    expect(open.output.map(({ type }: Json) => type)).to.deep.equal(['mcp_approval_request'])
    const last = await ask([approving(open)], { previous_response_id: open.id })
    expect(textOf(last)).to.equal('done, pay 9')
    expect(await project.read('paid.txt')).to.equal('pay 9\npay 9\n')
  })

  it('are offered at once with defer_loading; a search for tools is ignored', async () => {
    const ask = await makeAsk()
    const later = [{ ...patch, defer_loading: true }, { type: 'tool_search' }]
    const { ignored, json } = await ask('tools', { tools: later })
    expect(ignored).to.equal('tools[1] (tool_search)')
    expect(JSON.parse(textOf(json())).map(({ name }: Json) => name)).to.deep.equal(['apply_patch'])
  })

  it('are streamed with the events of their input', async () => {
    const ask = await makeAsk()
    const { body } = await ask('apply_patch {"input":"x"}', { stream: true }, '/compat')
    const events = readEvents(body) as Json[]
    const about = events.filter(({ type }) => /custom|item/.test(type ?? ''))
    expect(about.map(({ type, delta, input, item }) => [type, delta ?? input ?? item.input])).to.deep.equal([
      ['response.output_item.added', ''],
      ['response.custom_tool_call_input.delta', 'x'],
      ['response.custom_tool_call_input.done', 'x'],
      ['response.output_item.done', 'x'],
    ])
  })

  it('with an expression are called with matching texts alone: the model reads why another was not', async () => {
    const ask = await makeAsk()
    for (const input of ['{"input":"one"}', '{"input":5}', '{}']) {
      const call = callIn((await ask(`sum ${input}`)).json())
      expect(call, input).to.deep.include({ type: 'custom_tool_call', call_id: 'r1', input: '1+2' })
    }
  })

  it('may be demanded by their own names', async () => {
    const ask = await makeAsk()
    for (const tool_choice of [
      { type: 'custom', name: 'sum' },
      { type: 'function', name: 'find' },
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'sum' }] },
    ]) {
      expect((await ask('tools', { tool_choice })).status, JSON.stringify(tool_choice)).to.equal(200)
    }
    for (const tool_choice of [
      { type: 'custom', name: 'nobody' },
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'nobody' }] },
    ]) {
      expect((await ask('tools', { tool_choice })).status, JSON.stringify(tool_choice)).to.equal(400)
    }
  })

  it('of a namespace may be the only ones that are allowed', async () => {
    const ask = await makeAsk()
    const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'crm' }] }
    const offered = JSON.parse(textOf((await ask('tools', { tool_choice })).json()))
    expect(offered.map(({ name }: Json) => name)).to.deep.equal(['crm__find', 'crm__apply_patch'])
  })

  it('are chosen, and added, in the time that the request takes, however many they are', async () => {
    const ask = await makeAsk()
    const many = (length: number) =>
      Array.from({ length }, (_, index) => ({ type: 'function', name: `t${index}`, parameters: {} }))
    const few = (length: number) => many(length).map((tool) => ({ type: 'additional_tools', tools: [tool] }))
    const inside = { type: 'namespace', name: 'n', description: '', tools: many(10_000) }
    const allow = (...allowed: object[]) => ({ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed } })
    for (const [input, more] of [
      ['hi', { tools: many(20_000), ...allow(...many(20_000)) }],
      [[...few(9_900), { role: 'user', content: 'hi' }], { tools: [] }],
      ['hi', { tools: [inside], ...allow(...many(10_000).map(() => ({ type: 'namespace', name: 'n' }))) }],
    ] as const) {
      const spentMs = measureCpuTime()
      expect((await ask(input, { model: 'echo', ...more })).status).to.equal(200)
      expect(spentMs()).to.be.lessThan(1500)
    }
  })

  describe('added by an item', () => {
    const adding = (...added: object[]) => ({ type: 'additional_tools', role: 'developer', tools: added })
    const go = { role: 'user', content: 'tools' }
    const given = (record: Json) => JSON.parse(textOf(record)).map(({ name, description }: Json) => [name, description])

    it('are offered in this turn and in later ones, wherever the item stands', async () => {
      const ask = await makeAsk()
      const input = [adding(patch, { type: 'web_search' }), go]
      const first = await ask(input, { tools: [] })
      expect(first.ignored).to.equal('input[0].tools[1] (web_search)')
      expect(given(first.json())).to.deep.equal([['apply_patch', 'Patches.']])
      const { id } = first.json()
      const renewed = { ...patch, description: 'Patches better.' }
      const find = { type: 'function', name: 'find' }
      const next = (await ask([go, adding(renewed)], { tools: [find], previous_response_id: id })).json()
      expect(given(next)).to.deep.equal([
        ['apply_patch', 'Patches better.'],
        ['find', ''],
      ])
      const call = 'apply_patch {"input":"x"}'
      const last = (await ask(call, { tools: [], previous_response_id: next.id })).json()
      expect(callIn(last)).to.deep.include({ type: 'custom_tool_call', name: 'apply_patch' })
      const whole = [go, adding(patch), { role: 'assistant', content: 'hi' }, go, adding(renewed)]
      const unstored = (await ask(whole, { tools: [], store: false })).json()
      expect(given(unstored)).to.deep.equal([['apply_patch', 'Patches better.']])
    })

    it('are ignored by /compat where they cannot be read, as is an empty prompt', async () => {
      const ask = await makeAsk()
      for (const tools of [5, [5], [{ type: 'custom' }], [{ type: 'namespace', name: 'a' }]]) {
        const input = [go, { type: 'additional_tools', tools }]
        for (const stream of [false, true]) {
          const { status, ignored } = await ask(input, { tools: [], prompt: '', stream }, '/compat')
          expect([status, ignored]).to.deep.equal([200, 'input[1] (additional_tools)'])
        }
      }
    })

    it('yield to those of the request that have their name', async () => {
      const ask = await makeAsk()
      const own = { ...patch, description: 'Mine.' }
      expect(given((await ask([adding(patch), go], { tools: [own] })).json())).to.deep.equal([['apply_patch', 'Mine.']])
    })
  })

  let deep: Json = {}
  for (let level = 0; level < 200; level++) deep = { type: 'object', properties: { a: deep } }
  const user = { role: 'user', content: 'go' }
  const call = { type: 'custom_tool_call', call_id: 'x', name: 'sum', input: '1' }
  const regex = (definition: string) => ({ ...sum, format: { type: 'grammar', syntax: 'regex', definition } })
  for (const [what, body, param] of [
    ['two tools of one name', { tools: [crm, crm] }, 'tools'],
    [
      'a function with the name of one in a namespace',
      { tools: [crm, { type: 'function', name: 'crm__find' }] },
      'tools',
    ],
    ['a deep schema', { tools: [{ type: 'function', name: 'a', parameters: deep }] }, 'tools[0].parameters'],
    ['an expression that backtracks', { tools: [regex('(\\w+\\s?)+!')] }, 'tools'],
    [
      'expressions that are slow together',
      { tools: Array.from({ length: 100 }, (_, at) => ({ ...regex(`(?:a|a){20}x{${at}}[bc]`), name: `sum_${at}` })) },
      'tools',
    ],
    ['an expression that is none', { tools: [regex('(')] }, 'tools[0].format.definition'],
    ['a grammar that is not known', { tools: [{ ...sum, format: { type: 'x' } }] }, 'tools[0].format.type'],
    ['a namespace without tools', { tools: [{ type: 'namespace', name: 'a' }] }, 'tools[0].tools'],
    ['a hosted tool in a namespace', { tools: [{ ...crm, tools: [{ type: 'shell' }] }] }, 'tools[0].tools[0].type'],
    ['added tools that are none', { input: [user, { type: 'additional_tools', tools: [5] }] }, 'input[1].tools'],
    [
      'an added tool without a name',
      { input: [user, { type: 'additional_tools', tools: [{ type: 'custom' }] }] },
      'input[1].tools[0].name',
    ],
    [
      'added tools without a user message',
      {
        input: [
          { role: 'developer', content: 'x' },
          { type: 'additional_tools', tools },
        ],
      },
      'input[1]',
    ],
    ['a call without a text', { input: [user, { ...call, input: 5 }] }, 'input[1].input'],
    [
      'an output of the other kind',
      { input: [user, call, { type: 'function_call_output', call_id: 'x', output: '' }] },
      'input[2].type',
    ],
  ] as const) {
    it(`get 400 for ${what}`, async () => {
      const ask = await makeAsk()
      const { status, json } = await ask('tools', body)
      expect([status, json().error?.param]).to.deep.equal([400, param])
    })
  }

  it('get 400 for an output of the other kind to a stored call', async () => {
    const ask = await makeAsk()
    const kinds = { custom_tool_call: 'apply_patch {"input":"x"}', function_call: 'crm__find {}' }
    for (const [kind, text] of Object.entries(kinds)) {
      const { id: previous_response_id } = (await ask(text)).json()
      const other = kind === 'function_call' ? 'custom_tool_call' : 'function_call'
      const output = { type: `${other}_output`, call_id: 'c1', output: 'x' }
      const { status, json } = await ask([output], { previous_response_id })
      expect([status, json().error?.param]).to.deep.equal([400, 'input[0].type'])
    }
  })
})
