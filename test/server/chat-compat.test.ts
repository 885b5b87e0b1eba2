import { expect } from 'chai'
import fc from 'fast-check'
import { anyCharacter } from '../support/any-character.ts'
import { chat, closeServers, makeServer, readEvents } from '../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'

const MARKED = {
  'agents/marked.yml': 'id: marked\nmodules: [{ id: main, module: marked }]',
  'modules/marked.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Marked', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(reason, run) { await response.respondText('so far'); run.markIncomplete(reason) } }) })`,
}

describe('ChatCompatApiAdapter', () => {
  afterEach(closeServers)

  const post = async (payload: unknown, options = {}, headers = {}) => {
    const { app } = await makeServer(options)
    return app.inject({ method: 'POST', url: COMPLETIONS, payload: payload as object, headers })
  }

  it('lists each agent as a model', async () => {
    const { app } = await makeServer()
    const response = await app.inject('/compat/models')
    const entry = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'agent-host' })
    expect(response.json()).to.deep.equal({ object: 'list', data: ['desk', 'echo', 'model', 'probe'].map(entry) })
    expect((await app.inject('/compat/models/echo')).json()).to.deep.equal(entry('echo'))
    const unknown = await app.inject('/compat/models/nobody')
    expect([unknown.statusCode, unknown.json()]).to.deep.equal([404, { detail: 'model not found' }])
  })

  it('answers a completion', async () => {
    const response = await post(chat('echo', 'hi'))
    const { id, created, ...rest } = response.json()
    expect(response.headers['content-type']).to.equal('application/json; charset=utf-8')
    expect(id).to.match(/^chatcmpl-[0-9a-f-]{36}$/)
    expect(created).to.be.closeTo(Date.now() / 1000, 5)
    expect(rest).to.deep.equal({
      object: 'chat.completion',
      model: 'echo',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    })
  })

  it('reports why an answer is incomplete', async () => {
    const { app } = await makeServer({}, MARKED)
    const reasonOf = async (reason: string, more: object = {}) => {
      const payload = chat('marked', reason, more)
      return app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
    }
    for (const [reason, expected] of [
      ['max_output_tokens', 'length'],
      ['max_tokens', 'length'],
      ['content_filter', 'content_filter'],
      ['max_steps', 'stop'],
    ] as const) {
      expect((await reasonOf(reason)).json().choices[0].finish_reason).to.equal(expected)
      const chunks = readEvents((await reasonOf(reason, { stream: true })).body) as { choices: object[] }[]
      expect(chunks.at(-2)?.choices[0]).to.deep.equal({ index: 0, delta: {}, finish_reason: expected })
    }
  })

  it('streams chunks: the role first, then content, an empty delta, and [DONE]', async () => {
    const response = await post(chat('model', 'hi', { stream: true, stream_options: { include_usage: true } }))
    expect(response.headers['content-type']).to.equal('text/event-stream; charset=utf-8')
    const events = readEvents(response.body) as { id: string; created: number }[]
    const { id, created } = events[0] ?? { id: '', created: 0 }
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id,
      object: 'chat.completion.chunk',
      created,
      model: 'model',
      choices: [{ index: 0, delta, finish_reason }],
    })
    expect(events).to.deep.equal([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'one' }),
      chunk({ content: ' two' }),
      chunk({}, 'stop'),
      { ...chunk({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
      '[DONE]',
    ])
    expect(readEvents((await post(chat('model', 'hi', { stream: true }))).body)).to.have.lengthOf(5)
  })

  it('preserves any text byte for byte, streamed or not', async () => {
    const { app } = await makeServer()
    const texts = ['', ' ', '\n\n', 'data: [DONE]\n\n', '"\\\u2028\u0000', '🎈é𝄞', '\ud800', 'x'.repeat(70_000)]
    for (const text of texts) {
      const plain = await app.inject({ method: 'POST', url: COMPLETIONS, payload: chat('echo', text) })
      expect(plain.json().choices[0].message.content).to.equal(text)
      const streamed = await app.inject({
        method: 'POST',
        url: COMPLETIONS,
        payload: chat('echo', text, { stream: true }),
      })
      const events = readEvents(streamed.body) as { choices: { delta: { content?: string } }[] }[]
      expect(events.map((event) => event.choices?.[0]?.delta.content ?? '').join('')).to.equal(text)
    }
  })

  it('preserves 1,000 random texts, streamed', async () => {
    const { app } = await makeServer()
    for (const text of fc.sample(fc.string({ unit: anyCharacter, maxLength: 200 }), { numRuns: 1000, seed: 3 })) {
      const { body } = await app.inject({
        method: 'POST',
        url: COMPLETIONS,
        payload: chat('echo', text, { stream: true }),
      })
      const events = readEvents(body) as { choices: { delta: { content?: string } }[] }[]
      expect(events.map((event) => event.choices?.[0]?.delta.content ?? '').join('')).to.equal(text)
    }
  })

  it('serves its paths with a trailing slash, too', async () => {
    const { app } = await makeServer()
    expect((await app.inject('/compat/models/')).json().object).to.equal('list')
    expect(
      (await app.inject({ method: 'POST', url: `${COMPLETIONS}/`, payload: chat('echo', 'x') })).statusCode,
    ).to.equal(200)
    expect((await app.inject({ method: 'PUT', url: `${COMPLETIONS}/`, payload: {} })).statusCode).to.equal(405)
  })

  it('serves entry points by name, and returns the name', async () => {
    const { app } = await makeServer()
    const answer = async (model: string) => {
      const body = (await app.inject({ method: 'POST', url: COMPLETIONS, payload: chat(model, 'x') })).json()
      return [body.model, body.choices[0].message.content]
    }
    expect(await answer('desk')).to.deep.equal(['desk', 'support x'])
    expect(await answer('desk/sales')).to.deep.equal(['desk/sales', 'sales x'])
    expect(await answer('desk/__entry__')).to.deep.equal(['desk/__entry__', 'support x'])
  })

  it('passes the whole conversation to the agent, which handles the last user message', async () => {
    const messages = [
      { role: 'system', content: 'be kind' },
      { role: 'developer', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'x' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 't', arguments: '{"a":1}' } },
          { id: 'c2', type: 'function', function: { name: 't', arguments: '[1]' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'found' },
      { role: 'tool', tool_call_id: 'c2', content: 'nothing' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'fa' },
          { type: 'text', text: 'cts' },
        ],
      },
    ]
    const response = await post({
      model: 'probe',
      messages,
      user: 'u1',
      metadata: { k: 'v' },
      temperature: null,
    })
    expect(JSON.parse(response.json().choices[0].message.content)).to.deep.equal([
      'u1',
      { k: 'v' },
      [
        { role: 'system', content: 'be kind' },
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'see' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [
            { id: 'c1', name: 't', arguments: { a: 1 } },
            { id: 'c2', name: 't', arguments: {} },
          ],
        },
        { role: 'tool', content: 'found', toolCallId: 'c1' },
        { role: 'tool', content: 'nothing', toolCallId: 'c2' },
        { role: 'user', content: 'facts' },
      ],
    ])
  })

  it('turns an attachment into a link', async () => {
    expect((await post(chat('probe', 'image'))).json().choices[0].message.content).to.equal(
      '\n![A](https://example.test/a.png)\n',
    )
  })

  const refused: [title: string, payload: unknown, detail: string][] = [
    ['no body', undefined, 'model and messages are required'],
    ['a null model', { model: null, messages: [] }, 'model and messages are required'],
    ['no messages', { model: 'echo' }, 'model and messages are required'],
    ['an unknown model', chat('nobody', 'x'), 'model not found'],
    ['an unknown entry point', chat('desk/nobody', 'x'), 'model not found'],
    [
      'no user message',
      { model: 'echo', messages: [{ role: 'system', content: 'x' }] },
      'messages must contain a user message',
    ],
    ['an empty list', { model: 'echo', messages: [] }, 'messages must contain a user message'],
    ['a model that is no string', { model: 1, messages: [] }, 'model must be a string.'],
    [
      'a user with a name that could not be deleted',
      { ...chat('echo', 'x'), user: 'u'.repeat(301) },
      'user must not have more than 300 characters.',
    ],
    ['messages that are no array', { model: 'echo', messages: 'x' }, 'messages must be an array.'],
    [
      'a role that is none',
      { model: 'echo', messages: [{ role: 'usr', content: 'x' }] },
      "messages[0].role must be one of 'system', 'developer', 'user', 'assistant' and 'tool'.",
    ],
    [
      'a user message without content',
      { model: 'echo', messages: [{ role: 'user' }] },
      'messages[0].content must be a string or an array.',
    ],
    ['content that is null', chat('echo', null), 'messages[0].content must be a string or an array.'],
    ['content of another kind', chat('echo', 1), 'messages[0].content must be a string, an array or null.'],
    [
      'a temperature out of range',
      chat('echo', 'x', { temperature: 2.1 }),
      'temperature must be a number from 0 to 2 or null.',
    ],
    [
      'a penalty out of range',
      chat('echo', 'x', { presence_penalty: -3 }),
      'presence_penalty must be a number from -2 to 2 or null.',
    ],
    [
      'max_tokens that are not whole',
      chat('echo', 'x', { max_tokens: 1.5 }),
      'max_tokens must be a whole number or null.',
    ],
    ['a stream that is no boolean', chat('echo', 'x', { stream: 'yes' }), 'stream must be a boolean or null.'],
    [
      'a picture to handle',
      chat('echo', [{ type: 'image_url', image_url: { url: 'x' } }]),
      "messages: the last user message has a part of the type 'image_url'; only text can be handled",
    ],
  ]
  for (const [title, payload, detail] of refused) {
    it(`answers 400 to ${title}`, async () => {
      const response = await post(payload)
      expect([response.statusCode, response.json()]).to.deep.equal([400, { detail }])
    })
  }

  it('accepts every option at the limits of its range, and ignores unknown ones', async () => {
    const options = {
      temperature: 2,
      top_p: 1,
      stop: ['a'],
      presence_penalty: -2,
      frequency_penalty: 2,
      max_tokens: 1,
      n: 'x',
      later: {},
    }
    expect((await post(chat('echo', 'x', options))).statusCode).to.equal(200)
    expect((await post(chat('echo', 'x', { max_tokens: 0 }))).statusCode).to.equal(200)
  })

  it('reports that the agent failed, but not why', async () => {
    const response = await post(chat('probe', 'fail'))
    expect([response.statusCode, response.json(), response.headers['x-should-retry']]).to.deep.equal([
      500,
      { detail: 'Agent execution failed' },
      'false',
    ])
    expect((await post(chat('probe', 'fail'), { debug: true })).json()).to.deep.equal({
      detail: 'Agent execution failed: secret detail',
    })
  })

  it('ends a failed stream with an error event and [DONE]', async () => {
    const events = readEvents((await post(chat('probe', 'fail-after', { stream: true }))).body)
    expect(events.slice(-2)).to.deep.equal([
      { error: { message: 'Agent execution failed', type: 'server_error', code: 'server_error' } },
      '[DONE]',
    ])
    expect(events).to.have.lengthOf(4)
  })

  describe('with a key', () => {
    const keyed = { compatApiKey: 'key-1234' }
    const cases: [title: string, headers: Record<string, string>, detail: string | undefined][] = [
      ['no header', {}, 'Missing Authorization header'],
      ['another scheme', { authorization: 'Basic key-1234' }, 'Missing Authorization header'],
      ['no credentials', { authorization: 'Bearer ' }, 'Missing Authorization header'],
      ['a wrong key', { authorization: 'Bearer key-12345' }, 'Invalid API key'],
      ['the key', { authorization: 'Bearer key-1234' }, undefined],
      ['the scheme in lower case', { authorization: 'bearer key-1234' }, undefined],
    ]
    for (const [title, headers, detail] of cases) {
      it(`${detail ? 'refuses' : 'accepts'} ${title}`, async () => {
        const response = await post(chat('echo', 'x'), keyed, headers)
        if (!detail) return expect(response.statusCode).to.equal(200)
        expect([response.statusCode, response.json(), response.headers['www-authenticate']]).to.deep.equal([
          401,
          { detail },
          'Bearer',
        ])
      })
    }

    it('checks it before the body, and on the list of models', async () => {
      const { app } = await makeServer(keyed)
      const broken = await app.inject({
        method: 'POST',
        url: COMPLETIONS,
        payload: '{',
        headers: { 'content-type': 'application/json' },
      })
      expect(broken.json()).to.deep.equal({ detail: 'Missing Authorization header' })
      expect((await app.inject('/compat/models')).statusCode).to.equal(401)
    })

    it('falls back to COMPAT_API_KEY', async () => {
      process.env.COMPAT_API_KEY = 'from-environment'
      try {
        const { app } = await makeServer()
        expect((await app.inject('/compat/models')).statusCode).to.equal(401)
        const headers = { authorization: 'Bearer from-environment' }
        expect((await app.inject({ url: '/compat/models', headers })).statusCode).to.equal(200)
      } finally {
        delete process.env.COMPAT_API_KEY
      }
    })
  })
})
