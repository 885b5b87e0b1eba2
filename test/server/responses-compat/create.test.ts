import { expect } from 'chai'
import fc from 'fast-check'
import { Compile } from 'typebox/compile'
import { findValueProblems } from '../../../src/definition/schema-problems.ts'
import { ResponseRecord } from '../../../src/server/adapters/responses-compat/routes/schema.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/.source

describe('POST /compat/responses', () => {
  afterEach(closeServers)

  it('returns the complete record with every field and default', async () => {
    const { inject } = await makeResponses()
    const reply = await inject('POST', '', { model: 'talk', input: 'say a b' })
    expect([reply.statusCode, reply.headers['content-type']]).to.deep.equal([200, 'application/json; charset=utf-8'])
    const { id, created_at, completed_at, output, ...rest } = reply.json()
    expect(id).to.match(new RegExp(`^resp_${UUID}$`))
    expect(created_at).to.be.closeTo(Date.now() / 1000, 5)
    expect(completed_at).to.be.closeTo(created_at, 1)
    expect(output[0].id).to.match(new RegExp(`^msg_${UUID}$`))
    expect(output).to.deep.equal([
      {
        type: 'message',
        id: output[0].id,
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'a b ', annotations: [] }],
      },
    ])
    expect(rest).to.deep.equal({
      object: 'response',
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      model: 'talk',
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: null,
      safety_identifier: null,
      service_tier: 'default',
      store: true,
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      truncation: 'disabled',
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 1 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 5,
      },
      user: null,
      metadata: {},
    })
  })

  it('returns the fields of the request', async () => {
    const { create } = await makeResponses()
    const asked = {
      instructions: 'Be brief.',
      max_output_tokens: 50,
      parallel_tool_calls: false,
      temperature: 0.5,
      top_p: 0.25,
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
      truncation: 'auto',
      user: 'u1',
      metadata: { topic: 'x' },
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      top_logprobs: 2,
      max_tool_calls: 3,
      service_tier: 'flex',
      safety_identifier: 's',
      prompt_cache_key: 'p',
    }
    const record = await create('say a', {
      ...asked,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low' },
      tools: [{ type: 'function', name: 'f', parameters: {} }, { type: 'web_search' }],
    })
    expect(record).to.deep.include({
      ...asked,
      reasoning: { effort: 'low', summary: null },
      text: { verbosity: 'low', format: { type: 'text' } },
      tools: [{ type: 'function', name: 'f', parameters: {}, description: null, strict: null }, { type: 'web_search' }],
    })
  })

  it('treats null as absent, but not empty lists and objects', async () => {
    const { create } = await makeResponses()
    const names = ['instructions', 'metadata', 'reasoning', 'store', 'stream', 'text', 'tools', 'previous_response_id']
    const more = ['background', 'include', 'temperature', 'tool_choice', 'user', 'conversation', 'max_output_tokens']
    const nulls = Object.fromEntries([...names, ...more].map((name) => [name, null]))
    expect(await create('say a', nulls)).to.deep.include({
      status: 'completed',
      store: true,
      text: { format: { type: 'text' } },
    })
    const empty = await create('say a', { include: [], tools: [], text: {}, metadata: {} })
    expect(empty).to.deep.include({ status: 'completed', tools: [], text: { format: { type: 'text' } } })
  })

  it('passes request data to the run, which has the id of the response', async () => {
    const { create } = await makeResponses()
    const record = await create('facts', { instructions: 'Be brief.', user: 'u1', metadata: { topic: 'x' } })
    expect(JSON.parse(textOf(record))).to.deep.equal([record.id.slice(5), 'Be brief.', 'u1', { topic: 'x' }])
  })

  it('calls an entry point', async () => {
    const { create } = await makeResponses()
    expect(textOf(await create('hi', { model: 'desk/sales' }))).to.equal('sales hi')
    const plain = await create('hi', { model: 'desk' })
    expect([plain.model, textOf(plain)]).to.deep.equal(['desk', 'support hi'])
  })

  it('rejects invalid fields, and says what is valid', async () => {
    const { inject } = await makeResponses()
    const cases: [Json, string][] = [
      [{}, 'input and model are required'],
      [{ input: 'x' }, 'input and model are required'],
      [{ model: 'talk' }, 'input and model are required'],
      [{ model: 'talk', input: '' }, 'input and model are required'],
      [{ model: 'talk', input: [] }, 'input and model are required'],
      [{ model: '', input: 'x' }, 'input and model are required'],
      [{ model: null, input: 'x' }, 'input and model are required'],
      [[], 'input and model are required'],
      [{ model: 'nobody', input: 'x' }, 'model not found'],
      [{ model: 'talk/nobody', input: 'x' }, 'model not found'],
      [{ model: 'talk', input: [{ role: 'assistant', content: 'x' }] }, 'input must contain a user message'],
      [{ model: 'talk', input: [{ type: 'reasoning', summary: [] }] }, 'input must contain a user message'],
      [{ model: 'talk', input: 'x', user: 'u'.repeat(301) }, 'user must not have more than 300 characters.'],
      [{ model: 'talk', input: [{ role: 'user' }] }, 'input[0].content must be a string or an array of parts'],
      [{ model: 'talk', input: [{ content: 'x' }] }, 'input[0].role must be one of user, assistant, system, developer'],
      [
        { model: 'talk', input: 'x', background: true, store: false },
        'background needs store: a response that is not stored cannot be fetched',
      ],
      [
        { model: 'talk', input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
        'input[0].content[0].image_url must be an http(s) URL, or a data URL in base64',
      ],
      [
        { model: 'talk', input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'x' }] }] },
        'input[0].content[0].file_id: this server keeps no files. Send the data or a URL.',
      ],
      [
        { model: 'talk', input: [{ type: 'function_call_output', call_id: 'c', output: [null] }] },
        "input[0].output[0].type: parts of the type 'undefined' cannot be handled",
      ],
    ]
    for (const [body, detail] of cases) {
      const reply = await inject('POST', '', body)
      expect([reply.statusCode, reply.json()], JSON.stringify(body)).to.deep.equal([400, { detail }])
    }
    const wrong = {
      text: { format: { type: 'xml' } },
      reasoning: { effort: 5 },
      tool_choice: 5,
      input: 5,
      stream: 'yes',
      temperature: 'hot',
      metadata: [],
      tools: {},
      include: [1],
      conversation: 5,
    }
    for (const [field, value] of Object.entries(wrong)) {
      const reply = await inject('POST', '', { model: 'talk', input: 'say a', [field]: value })
      expect([reply.statusCode, reply.json().detail.includes(field)], reply.body).to.deep.equal([400, true])
    }
  })

  it('shows the agent every message in role and order, without images of earlier ones', async () => {
    const { create } = await makeResponses()
    const record = await create([
      { role: 'developer', content: 'rules' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look ' },
          { type: 'input_image', image_url: 'x' },
        ],
      },
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'seen', annotations: [] }],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      { role: 'user', content: 'history' },
      { role: 'system', content: 'more rules' },
    ])
    expect(JSON.parse(textOf(record))).to.deep.equal([
      'system: rules',
      'user: look ',
      'assistant: seen',
      'tool: x',
      'user: history',
      'system: more rules',
    ])
  })

  it('stores nothing with store: false', async () => {
    const { create, inject, stream } = await makeResponses()
    const record = await create('say a', { store: false })
    expect(record).to.deep.include({ status: 'completed', store: false })
    const [{ response }] = (await stream('say a', { store: false })) as Json[]
    for (const id of [record.id, response.id]) {
      expect((await inject('GET', `/${id}`)).statusCode).to.equal(404)
      const next = await inject('POST', '', { model: 'talk', input: 'say a', previous_response_id: id })
      expect([next.statusCode, next.json()]).to.deep.equal([404, { detail: 'Response not found' }])
    }
  })

  it("stores a failure, and reports it without the agent's error", async () => {
    const { inject, get } = await makeResponses()
    const reply = await inject('POST', '', { model: 'talk', input: 'fail' })
    expect([reply.statusCode, reply.json()]).to.deep.equal([500, { detail: 'Agent execution failed' }])
    expect(reply.headers['x-should-retry']).to.equal('false')
    expect(await get(reply.headers['x-response-id'] as string)).to.deep.include({
      status: 'failed',
      completed_at: null,
      output: [],
      error: { code: 'server_error', message: 'Agent execution failed' },
    })
    const after = await inject('POST', '', { model: 'talk', input: 'fail-after' })
    const record = await get(after.headers['x-response-id'] as string)
    expect([record.output[0].status, textOf(record)]).to.deep.equal(['in_progress', 'part'])
    const unstored = await inject('POST', '', { model: 'talk', input: 'fail', store: false })
    expect([unstored.statusCode, unstored.headers['x-response-id']]).to.deep.equal([500, undefined])
  })

  it("shows the agent's error in debug mode", async () => {
    const { inject, get } = await makeResponses({ debug: true })
    const reply = await inject('POST', '', { model: 'talk', input: 'fail' })
    expect(reply.json()).to.deep.equal({ detail: 'Agent execution failed: secret detail' })
    const { error } = await get(reply.headers['x-response-id'] as string)
    expect(error.message).to.equal('Agent execution failed: secret detail')
  })

  it('reports the limit at which the agent stopped', async () => {
    const { create, get } = await makeResponses()
    const record = await create('limit')
    expect(record).to.deep.include({ status: 'completed', incomplete_details: { reason: 'max_steps' } })
    expect(await get(record.id)).to.deep.equal(record)
  })

  it('returns an answer without text', async () => {
    const { create } = await makeResponses()
    expect((await create('nothing')).output[0].content).to.deep.equal([
      { type: 'output_text', text: '', annotations: [] },
    ])
  })

  it('shows tool calls on request', async () => {
    const { create } = await makeResponses()
    const plain = await create('1 + 2?', { model: 'tools' })
    expect(plain.output.map((item: Json) => [item.type, item.status])).to.deep.equal([['message', 'completed']])
    expect(textOf(plain)).to.equal('Let me see.\n\nIt is 3.')
    const { output } = await create('1 + 2?', { model: 'tools', include: ['agent.tool_calls'] })
    expect(output.map((item: Json) => item.type)).to.deep.equal(['message', 'mcp_call', 'message'])
    expect(output[1].id).to.match(new RegExp(`^mcp_${UUID}$`))
    const call = { server_label: 'tools', name: 'add', arguments: '{"a":1,"b":2}', output: '3', status: 'completed' }
    expect(output[1]).to.deep.include(call)
    expect(new Set(output.map(({ id }: Json) => id)).size).to.equal(3)
  })

  it('preserves any text byte for byte', async () => {
    const { create, get } = await makeResponses()
    for (const text of [
      '\n\n',
      'data: [DONE]\n\n',
      '"\\\u2028\u0000',
      '🎈é𝄞',
      '\ud800',
      '"expires":1}',
      'x'.repeat(70_000),
    ]) {
      const record = await create(text, { model: 'echo' })
      expect(textOf(record)).to.equal(text)
      expect(await get(record.id)).to.deep.equal(record)
    }
  })

  it('answers any request with a documented record or an error with a reason', async () => {
    const { inject, get } = await makeResponses()
    const validator = Compile(ResponseRecord)
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string())
    const body = fc.record(
      {
        model: fc.constantFrom('talk', 'echo', 'nobody', null, 5),
        input: fc.oneof(
          fc.constantFrom('say a', 'fail', 'limit'),
          fc.array(
            fc.record(
              { type: value, role: fc.constantFrom('user', 'system', 'x'), content: value },
              { requiredKeys: [] },
            ),
          ),
          value,
        ),
        store: fc.oneof(fc.boolean(), value),
        metadata: value,
        text: value,
        tools: value,
        reasoning: value,
        include: value,
        background: fc.oneof(fc.boolean(), value),
        previous_response_id: value,
      },
      { requiredKeys: ['model', 'input'] },
    )
    await fc.assert(
      fc.asyncProperty(body, async (payload) => {
        const reply = await inject('POST', '', payload)
        const json = reply.json()
        if (reply.statusCode !== 200) {
          expect(reply.statusCode).to.be.oneOf(payload.input === 'fail' ? [400, 404, 500] : [400, 404])
          expect(Object.keys(json)).to.deep.equal(['detail'])
          return
        }
        expect(findValueProblems(ResponseRecord, validator, json, { unknownKeys: 'refuse' })).to.deep.equal([])
        if (json.store && !json.background) expect(await get(json.id)).to.deep.equal(json)
      }),
      { numRuns: 1500, seed: 5 },
    )
  })
})
