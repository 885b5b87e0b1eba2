import assert from 'node:assert/strict'
import type { ServedAdapter } from 'agent-host/testing'
import { type Reading, toMessages } from '../src/to-messages.ts'
import { READ_FILE, serve } from './support/serve.ts'

const PNG = Buffer.from('png').toString('base64')

describe('POST /anthropic/v1/messages', () => {
  let served: ServedAdapter

  before(async () => {
    served = await serve({
      adapterOptions: {
        MessagesAdapter: { aliases: 'plain=echo, claude-haiku-*=echo, claude-*=mirror, lost-*=gone, lost-mini=echo' },
      },
    })
  })

  after(() => served?.[Symbol.asyncDispose]())

  const post = (payload: object | string, headers: Record<string, string> = {}) =>
    served.server.app.inject({
      method: 'POST',
      url: '/anthropic/v1/messages',
      payload,
      headers: { 'content-type': 'application/json', ...headers },
    })

  const body = (model: string, content: unknown, more: object = {}) => ({
    model,
    max_tokens: 99,
    messages: [{ role: 'user', content }],
    ...more,
  })

  /** Question to the model, as it has seen it. */
  const mirror = async (request: object) => {
    const answer = await post(request)
    assert.equal(answer.statusCode, 200, JSON.stringify(answer.json()))
    return JSON.parse(answer.json().content[0].text)
  }

  const refusal = async (request: object | string) => {
    const answer = await post(request)
    const { type, error } = answer.json()
    return [answer.statusCode, type, error.type, error.message]
  }

  it('shows the model system blocks, texts, images and documents, with their titles', async () => {
    const content = [
      { type: 'text', text: 'Look:' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } },
      { type: 'document', title: 'Plan', source: { type: 'base64', media_type: 'application/pdf', data: PNG } },
      { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'of today' } },
      { type: 'search_result', title: 'Page', source: 'wiki', content: [{ type: 'text', text: 'found' }] },
    ]
    const system = [
      { type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be kind.' },
    ]
    const { messages } = await mirror(body('mirror', content, { system }))
    assert.deepEqual(messages, [
      { role: 'system', content: 'Be short.\nBe kind.' },
      {
        role: 'user',
        content: 'Look:\nNotes\nof today\n\nPage, wiki\nfound',
        attachments: [
          { mediaType: 'image/png', data: 'png' },
          { mediaType: 'image/png', data: 'https://example.test/a.png' },
          { mediaType: 'application/pdf', data: 'png', name: 'Plan' },
        ],
      },
    ])
  })

  it('takes an answer of very many blocks, and calls with any id', async () => {
    const call = { type: 'tool_use', id: 'toString', name: 'read_file', input: {} }
    const { messages } = await mirror(
      body('mirror', '', {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: [...Array(200_000).fill({ type: 'text', text: '' }), call] },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'toString' },
              { type: 'text', text: 'b' },
            ],
          },
        ],
      }),
    )
    assert.equal(messages.at(-1).content, 'b')
  })

  it('names tools that it leaves out as a header can, each once', async () => {
    const types = ['web_search_\r\nx', 'web_search_\u4e00', ...Array(100).fill('web_fetch_1')]
    const answer = await post(body('mirror', 'hi', { tools: types.map((type) => ({ type, name: 'web' })) }))
    assert.deepEqual(
      [answer.statusCode, answer.headers['x-ignored']],
      [200, 'tools.web_search___x, tools.web_search__, tools.web_fetch_1'],
    )
  })

  it('gives the model the options of the request, and the user', async () => {
    const { options, user, tools } = await mirror(
      body('mirror', 'hi', {
        temperature: 0.5,
        top_p: 0.9,
        stop_sequences: ['END'],
        thinking: { type: 'enabled', budget_tokens: 8000 },
        tools: [READ_FILE],
        tool_choice: { type: 'tool', name: 'read_file', disable_parallel_tool_use: true },
        metadata: { user_id: 'user-1' },
      }),
    )
    assert.deepEqual([user, tools], ['user-1', ['read_file']])
    const { temperature, topP, maxOutputTokens, stop, reasoningEffort, parallelToolCalls, toolChoice } = options
    assert.deepEqual(
      { temperature, topP, maxOutputTokens, stop, reasoningEffort, parallelToolCalls, toolChoice },
      {
        temperature: 0.5,
        topP: 0.9,
        maxOutputTokens: 99,
        stop: ['END'],
        reasoningEffort: 'medium',
        parallelToolCalls: false,
        toolChoice: { tool: 'read_file' },
      },
    )
  })

  it('gives the model results of tools with pictures and failures, and what the user says beside them', async () => {
    const calls = ['toolu_1', 'toolu_2'].map((id) => ({ type: 'tool_use', id, name: 'read_file', input: { path: id } }))
    const results = [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_1',
        content: [
          { type: 'text', text: 'A' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
        ],
      },
      { type: 'tool_result', tool_use_id: 'toolu_2', content: 'not there', is_error: true },
      { type: 'text', text: 'Go on.' },
    ]
    const conversation = [
      { role: 'user', content: 'Read.' },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }, ...calls] },
      { role: 'user', content: results },
    ]
    const { messages } = await mirror({ model: 'mirror', max_tokens: 9, messages: conversation, tools: [READ_FILE] })
    assert.deepEqual(messages, [
      { role: 'user', content: 'Read.' },
      {
        role: 'assistant',
        content: 'Yes.',
        toolCalls: [
          { id: 'toolu_1', name: 'read_file', arguments: { path: 'toolu_1' } },
          { id: 'toolu_2', name: 'read_file', arguments: { path: 'toolu_2' } },
        ],
      },
      { role: 'tool', toolCallId: 'toolu_1', content: 'A', attachments: [{ mediaType: 'image/png', data: 'png' }] },
      { role: 'tool', toolCallId: 'toolu_2', content: 'not there', isError: true },
      { role: 'user', content: 'Go on.' },
    ])
  })

  it('seals what a vendor wants back, takes it back, and leaves foreign signatures out', async () => {
    const { content, stop_reason } = (await post(body('thinker', 'hi', { tools: [READ_FILE] }))).json()
    const [thinking, sealed, call] = content
    assert.deepEqual(
      [thinking.type, thinking.thinking, sealed.type, call.type],
      ['thinking', 'Hm.', 'redacted_thinking', 'tool_use'],
    )
    assert.equal(stop_reason, 'tool_use')
    assert.doesNotMatch(JSON.stringify(content), /sig-of-vendor|of the call/)
    const again = (model: string, blocks: unknown) => ({
      model,
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: blocks },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'A' }] },
      ],
      tools: [READ_FILE],
    })
    // Sealed for the agent that has thought.
    const foreign = (await mirror(again('mirror', content))).messages[1]
    assert.deepEqual([foreign.reasoning, foreign.toolCalls[0].providerMetadata], [undefined, undefined])
    const own = (await post(body('mirror', 'think'))).json().content
    const { messages } = await mirror({
      model: 'mirror',
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'think' },
        { role: 'assistant', content: own },
        { role: 'user', content: 'hi' },
      ],
    })
    assert.deepEqual(messages[1].reasoning, [
      { text: 'Hm.', providerMetadata: { mirror: { signature: 'of the mirror' } } },
    ])
    const plain = [{ type: 'thinking', thinking: 'Mine.', signature: '' }, call]
    assert.deepEqual((await mirror(again('mirror', plain))).messages[1].reasoning, [{ text: 'Mine.' }])
  })

  it('streams from message_start to message_stop, with blocks in their order', async () => {
    const { payload } = await post(body('thinker', 'hi', { tools: [READ_FILE], stream: true }))
    const events = payload.split('\n\n').filter((frame) => frame !== '')
    const named = events.map((frame) => {
      const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? []
      const { type, content_block, delta } = JSON.parse(data)
      assert.equal(type, name)
      return [name, content_block?.type ?? delta?.type ?? delta?.stop_reason].filter(Boolean).join(' ')
    })
    assert.deepEqual(named, [
      'message_start',
      'ping',
      'content_block_start thinking',
      'content_block_delta thinking_delta',
      'content_block_delta signature_delta',
      'content_block_stop',
      'content_block_start redacted_thinking',
      'content_block_stop',
      'content_block_start tool_use',
      'content_block_delta input_json_delta',
      'content_block_stop',
      'message_delta tool_use',
      'message_stop',
    ])
  })

  it('ends a stream that fails with an error, without its reason', async () => {
    const { payload } = await post(body('late', 'hi', { stream: true }))
    const last = payload.split('\n\n').findLast((frame) => frame !== '')
    assert.equal(
      last,
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Agent execution failed"}}',
    )
  })

  it('says why an answer ended', async () => {
    const reasons = ['plain', 'long', 'prim'].map(async (model) => (await post(body(model, 'hi'))).json().stop_reason)
    assert.deepEqual(await Promise.all(reasons), ['end_turn', 'max_tokens', 'refusal'])
  })

  it('says which of the stop sequences of the request ended the text, streamed too', async () => {
    // The mirror names its user as the sequence.
    const ask = (user_id: string | null, more: object = {}) =>
      post(body('mirror', 'hi', { stop_sequences: ['STOP', 'END'], metadata: { user_id }, ...more }))
    const ends = async (user: string | null) => {
      const { stop_reason, stop_sequence } = (await ask(user)).json()
      return [stop_reason, stop_sequence]
    }
    assert.deepEqual(await ends('END'), ['stop_sequence', 'END'])
    assert.deepEqual(await ends(null), ['end_turn', null])
    // One of the agent's own is none of the client's.
    assert.deepEqual(await ends('OWN'), ['end_turn', null])
    const { payload } = await ask('STOP', { stream: true })
    const [start, , ...frames] = payload.split('\n\n').filter((frame) => frame !== '')
    assert.match(start ?? '', /"stop_reason":null,"stop_sequence":null/)
    const usage =
      '"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}'
    assert.deepEqual(frames.slice(-2), [
      `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"STOP"},${usage}}`,
      'event: message_stop\ndata: {"type":"message_stop"}',
    ])
  })

  it('tells what waits for a person as text', async () => {
    const { content, stop_reason } = (await post(body('cashier', 'Refund it.'))).json()
    assert.deepEqual(
      content.map(({ type }: { type: string }) => type),
      ['text'],
    )
    assert.match(content[0].text, /Waiting for approval of refund \{\}\. Decide with: agent-host approvals/)
    assert.equal(stop_reason, 'end_turn')
  })

  it('goes on after an approval without the tools of the client, which gives no more results', async () => {
    const adapters = ['./adapter.ts#MessagesAdapter', 'ResponsesCompatApiAdapter']
    await using inbox = await serve({ adapters })
    const { app, host } = inbox.server
    const ends: string[] = []
    const ended = new Promise<void>((resolve) => {
      host.onRunEnd(({ status, text }) => ends.push(`${status}: ${text}`) === 2 && resolve())
    })
    const payload = body('clerk', 'Refund it.', { tools: [READ_FILE] })
    const asked = await app.inject({ method: 'POST', url: '/anthropic/v1/messages', payload })
    const [, id] = /approvals\/(\S+) or/.exec(asked.json().content[0].text) ?? []
    const url = `/compat/approvals/${id}`
    const decided = await app.inject({ method: 'POST', url, payload: { decision: 'approve' } })
    assert.equal(decided.statusCode, 200, decided.payload)
    await ended
    assert.deepEqual(ends, ['waiting: ', 'completed: Done.'])
  })

  it('has aliases, which hide no agent', async () => {
    const says = async (model: string) => (await post(body(model, 'hi'))).json().content[0].text
    assert.equal(await says('plain'), 'one two')
    assert.equal(await says('claude-haiku-4-5'), 'hi')
    assert.match(await says('claude-opus'), /"messages"/)
    const wrong = await serve({ adapterOptions: { MessagesAdapter: { aliases: 'claude' } } }).catch((error) => error)
    assert.equal(wrong.message, "Options of MessagesAdapter: 'claude' is no alias.")
  })

  it('lists the aliases that lead to an agent, and leaves out those that one before them leads to none', async () => {
    const answer = await served.server.app.inject('/anthropic/v1/models')
    assert.equal(answer.statusCode, 200, answer.payload)
    const ids: string[] = answer.json().data.map(({ id }: { id: string }) => id)
    assert.deepEqual(
      ids.filter((id) => id.includes('*') || id.startsWith('lost')),
      ['claude-haiku-*', 'claude-*'],
    )
  })

  it('names every field that has no effect, whatever its name', async () => {
    const fields = {
      cache_control: { type: 'ephemeral' },
      output_format: { type: 'json_schema', schema: {} },
      'a\nb': 1,
    }
    const { headers } = await post(body('echo', 'hi', { ...fields, thread: { type: 'create' }, fallbacks: null }))
    assert.equal(headers['x-ignored'], 'output_format, a_b, thread')
  })

  it('refuses a user whose data could not be deleted', async () => {
    const ask = (length: number) => body('echo', 'hi', { metadata: { user_id: 'u'.repeat(length) } })
    assert.equal((await post(ask(300))).statusCode, 200)
    assert.deepEqual(await refusal(ask(301)), [
      400,
      'error',
      'invalid_request_error',
      'metadata.user_id must not have more than 300 characters.',
    ])
  })

  it('names what has no effect, and refuses what a client would wait for in vain', async () => {
    const { headers } = await post(
      body('echo', [{ type: 'document', source: { type: 'text', data: 'x' }, citations: { enabled: true } }], {
        top_k: 5,
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      }),
      { 'anthropic-beta': 'claude-code-20250219, context-1m-2025-08-07' },
    )
    assert.equal(
      headers['x-ignored'],
      'top_k, tools.web_search_20250305, citations, anthropic-beta.context-1m-2025-08-07',
    )
    assert.deepEqual(await refusal(body('echo', 'hi', { mcp_servers: [{ url: 'https://example.test' }] })), [
      400,
      'error',
      'invalid_request_error',
      'mcp_servers: is not served. Give the agent the tools: module tools/mcp.',
    ])
    assert.deepEqual(await refusal(body('echo', 'hi', { tools: [{ type: 'bash_20250124', name: 'bash' }] })), [
      400,
      'error',
      'invalid_request_error',
      "tools[0].type: 'bash_20250124' is not served: send name and input_schema",
    ])
    const file = [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }]
    assert.equal(
      (await refusal(body('mirror', file)))[3],
      "messages[0].content[0].source.type: 'file' is not served: send base64 or a URL",
    )
  })

  it('counts tokens of no request that it would refuse', async () => {
    const count = async (messages: object[], headers = {}, more = {}) => {
      const url = '/anthropic/v1/messages/count_tokens'
      const payload = { model: 'mirror', messages, ...more }
      const answer = await served.server.app.inject({ method: 'POST', url, payload, headers })
      return `${answer.statusCode} ${answer.json().error?.message}`
    }
    assert.match(await count([{ role: 'assistant', content: 'So' }]), /^400 messages: the last message must be/)
    const hi = [{ role: 'user', content: 'hi' }]
    assert.match(await count(hi, { 'x-agent-variant': 'unknown' }), /^400 .*variant/)
    assert.match(await count(hi, {}, { mcp_servers: [{ url: 'https://example.test' }] }), /^400 mcp_servers: is not/)
  })

  it('opens very many signatures in several turns of the event loop', async () => {
    let [inTurn, most, isDone] = [0, 0, false]
    const count = async () => {
      inTurn++
      most = Math.max(most, inTurn)
      return undefined
    }
    const look = () => {
      inTurn = 0
      if (!isDone) setImmediate(look)
    }
    look()
    const blocks = Array.from({ length: 20_000 }, (_, index) => ({
      type: 'thinking',
      thinking: 'Hm.',
      signature: `${index}`,
    }))
    const messages = ['user', 'assistant', 'user'].map((role, index) => ({
      role: role as 'user' | 'assistant',
      content: index === 1 ? blocks : 'hi',
    }))
    await toMessages({ messages }, { signatures: { open: count } } as object as Reading)
    isDone = true
    assert.ok(most <= 2000, `${most} in one turn`)
  })

  it('refuses images of the system, and what is no media type', async () => {
    const image = (media_type: string) => [{ type: 'image', source: { type: 'base64', media_type, data: PNG } }]
    const problem = 'is read as text: send images and files in a message of the user'
    const system = image('image/png')
    assert.equal((await refusal(body('mirror', 'hi', { system })))[3], `system: ${problem}`)
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: 'hi' },
    ]
    assert.equal((await refusal(body('mirror', '', { messages })))[3], `messages[0].content: ${problem}`)
    for (const wrong of ['', 'png', 'image/png\r\nx: y'])
      assert.equal(
        (await refusal(body('mirror', image(wrong))))[3],
        'messages[0].content[0].source.media_type: must be a media type, such as image/png',
      )
  })

  it('names what is no block within a block, and what cannot be a text', async () => {
    const textless = { toString: null, valueOf: null }
    const call = { type: 'tool_use', id: 't1', name: 'read_file', input: {} }
    const result = { type: 'tool_result', tool_use_id: 't1', content: '' }
    const ask = async (...contents: unknown[]) => {
      const messages = contents.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }))
      const [status, , type, message] = await refusal({ model: 'mirror', max_tokens: 9, messages })
      assert.deepEqual([status, type], [400, 'invalid_request_error'], message)
      return message
    }
    const inDocument = (inner: unknown) => [{ type: 'document', source: { type: 'content', content: [inner] } }]
    const said = 'messages[0].content[0]'
    for (const wrong of [null, 'x', 1, []]) {
      assert.equal(await ask(inDocument(wrong)), `${said}.source.content[0]: must be an object`)
      const found = [{ type: 'search_result', content: [{ type: 'text', text: 'a' }, wrong] }]
      assert.equal(await ask(found), `${said}.content[1]: must be an object`)
      const results = [{ ...result, content: [wrong] }]
      assert.equal(await ask('hi', [call], results), 'messages[2].content[0].content[0]: must be an object')
    }
    assert.equal(await ask(inDocument({ type: textless })), `${said}.source.content[0].type: must be a string`)
    const image = [{ type: 'image', source: { type: textless } }]
    assert.equal(await ask(image), `${said}.source.type: must be a string`)
    const wrongId = await ask('hi', [{ ...call, id: textless }], [result])
    assert.equal(wrongId, 'messages[1].content[0].id: must be a string')
    const wrongName = await ask('hi', [{ ...call, name: textless }], [result])
    assert.equal(wrongName, 'messages[1].content[0].name: must be a string')
    const wrongResult = await ask('hi', [call], [{ ...result, tool_use_id: textless }])
    assert.equal(wrongResult, 'messages[2].content[0].tool_use_id: must be a string')
  })

  it('names a content of another kind, and arguments that are no object', async () => {
    const call = { type: 'tool_use', id: 't1', name: 'read_file', input: {} }
    const result = { type: 'tool_result', tool_use_id: 't1', content: '' }
    const ask = async (said: unknown, answer: unknown[], results: unknown[]) => {
      const messages = [
        { role: 'user', content: said },
        { role: 'assistant', content: answer },
        { role: 'user', content: results },
      ]
      const [status, , , message] = await refusal({ model: 'mirror', max_tokens: 9, messages })
      assert.equal(status, 400, message)
      return message
    }
    const text = { type: 'text', text: 'a' }
    const kinds = 'must be a string or an array'
    for (const wrong of [text, 5, true]) {
      const results = [{ ...result, content: wrong }]
      assert.equal(await ask('hi', [call], results), `messages[2].content[0].content: ${kinds}`)
      const document = [{ type: 'document', source: { type: 'content', content: wrong } }]
      assert.equal(await ask(document, [call], [result]), `messages[0].content[0].source.content: ${kinds}`)
      const found = [{ type: 'search_result', content: wrong }]
      assert.equal(await ask(found, [call], [result]), `messages[0].content[0].content: ${kinds}`)
    }
    // A stream that broke off has half of the JSON.
    for (const input of ['{"path":"a', [], 5])
      assert.equal(await ask('hi', [{ ...call, input }], [result]), 'messages[1].content[0].input: must be an object')
    const wordless = [{ type: 'text', text: 5 }, call]
    assert.equal(await ask('hi', wordless, [result]), 'messages[1].content[0].text: must be a string')
    const double = await ask('hi', [call, call], [result])
    assert.equal(double, "messages[1].content[1].id: 't1' is the id of another open call")
  })

  it('shows the model what is told of a document, and calls and results without any content', async () => {
    const data = { type: 'text', media_type: 'text/plain', data: 'of today' }
    const bytes = { type: 'base64', media_type: 'application/pdf', data: PNG }
    const said = [
      { type: 'document', title: 'Notes', context: 'By Ada.', source: data },
      { type: 'document', title: 'Plan', context: 'By Eve.', source: bytes },
      { type: 'search_result', content: 'found' },
    ]
    const conversation = [
      { role: 'user', content: said },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'read_file', input: null }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: null }] },
    ]
    const { messages } = await mirror({ model: 'mirror', max_tokens: 9, messages: conversation })
    assert.deepEqual(messages, [
      {
        role: 'user',
        content: 'Notes\nBy Ada.\nof today\n\nBy Eve.\nfound',
        attachments: [{ mediaType: 'application/pdf', data: 'png', name: 'Plan' }],
      },
      { role: 'assistant', content: '', toolCalls: [{ id: 't1', name: 'read_file', arguments: {} }] },
      { role: 'tool', toolCallId: 't1', content: '' },
    ])
  })

  it('refuses conversations with open calls, unknown results, and without a question', async () => {
    const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'read_file', input: {} }] }
    const ask = (...messages: unknown[]) => refusal({ model: 'mirror', max_tokens: 9, messages })
    const hi = { role: 'user', content: 'hi' }
    assert.equal((await ask(hi, call, hi))[3], "messages[2].content: has no tool_result for the call 't1'")
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't2', content: '' }] }
    assert.equal((await ask(hi, result))[3], "messages[1].content[0].tool_use_id: 't2' is no open call of an answer")
    assert.match(
      (await ask(hi, { role: 'assistant', content: 'So' }))[3],
      /^messages: the last message must be of the user/,
    )
  })

  it('takes messages of the system between a call and its result, and at the end, as Claude Code sends them', async () => {
    const note = { role: 'system', content: 'A note.' }
    const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'read_file', input: {} }] }
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'A' }] }
    const conversation = [{ role: 'user', content: 'hi' }, call, note, result, note]
    const { messages } = await mirror({ model: 'mirror', max_tokens: 9, messages: conversation, tools: [READ_FILE] })
    const roles = messages.map(({ role }: { role: string }) => role)
    assert.deepEqual(roles, ['user', 'assistant', 'system', 'tool', 'system'])
  })

  it('names a request in every answer, and answers an unknown path and broken JSON in its format', async () => {
    const { headers } = await post(body('echo', 'hi'))
    assert.equal(typeof headers['request-id'], 'string')
    assert.deepEqual((await refusal('{'))[2], 'invalid_request_error')
    const unknown = await served.server.app.inject('/anthropic/v1/nothing')
    assert.deepEqual(
      [unknown.statusCode, unknown.json()],
      [
        404,
        {
          type: 'error',
          error: { type: 'not_found_error', message: 'Not Found' },
          request_id: unknown.headers['request-id'],
        },
      ],
    )
  })
})
