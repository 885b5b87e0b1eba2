import { expect } from 'chai'
import { chat, closeServers, makeServer, readEvents } from '../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'

/** `reveal` answers what reached it as JSON; `sight` as well, and takes attachments; `show` answers with attachments and reasoning. */
const FILES = {
  'agents/reveal.yml': 'id: reveal\nmodules: [{ id: main, module: reveal }]',
  'agents/sight.yml': 'id: sight\nmodules: [{ id: main, module: reveal#sight }]',
  'agents/refusing.yml': 'id: refusing\nrequest_options: refuse\nmodules: [{ id: main, module: reveal }]',
  'modules/reveal.ts': `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
const facts = (attachments) => ({ provides: [TextMessageHandler], attachments,
  uses: { response: Response, history: ConversationHistory, tools: many(ToolProvider) },
  create: ({ response, history }) => ({ async handleText(_text, run) {
    const shown = (value) => value instanceof Uint8Array ? 'bytes ' + Buffer.from(value).toString() : value
    const attachments = (await history.getHistory()).flatMap((message) => message.attachments ?? [])
    const options = run.requestOptions
    const said = (await history.getHistory()).flatMap(({ role, content }) => role === 'assistant' ? [content] : [])
    await response.respondText(JSON.stringify({ options, tools: run.clientTools, ...(said.length > 0 && { said }), attachments: attachments.map((one) => ({ ...one, data: shown(one.data) })) }))
  } }) })
export default defineModule({ name: 'Reveal', ...facts([]) })
export const sight = defineModule({ name: 'Sight', ...facts(['image/*', 'audio/*', 'application/pdf']) })`,
  'agents/show.yml': 'id: show\nmodules: [{ id: main, module: show }]',
  'modules/show.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Show', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ async handleText(_text, run) {
    await response.respondReasoning('Let me '); await response.respondReasoning('draw.')
    await response.respondText('Here:')
    await response.respondImage({ mediaType: 'image/png', data: Buffer.from('png'), name: 'dot' })
    await response.respondFile({ mediaType: 'application/pdf', data: new URL('https://example.test/a.pdf') })
    run.addUsage({ inputTokens: 5, outputTokens: 4, cachedInputTokens: 3, reasoningTokens: 2 })
  } }) })`,
}

const weather = (more: object = {}) => ({
  type: 'function',
  function: { name: 'weather', description: 'Of a city', parameters: { type: 'object' }, ...more },
})

const allowed = (mode: string, ...names: string[]) => ({
  type: 'allowed_tools',
  allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
})

describe('a chat request', () => {
  afterEach(closeServers)

  const post = async (payload: object) => {
    const { app } = await makeServer({}, FILES)
    return app.inject({ method: 'POST', url: COMPLETIONS, payload })
  }
  const revealed = async (content: unknown, more: object = {}, model = 'reveal') => {
    const { choices } = (await post(chat(model, content, more))).json()
    return JSON.parse(choices[0].message.content)
  }

  it('passes on exactly the options that the client set', async () => {
    const options = {
      temperature: 0,
      top_p: 0.5,
      max_tokens: 10,
      max_completion_tokens: 20,
      stop: 'END',
      seed: 7,
      presence_penalty: 1,
      frequency_penalty: -1,
      reasoning_effort: 'low',
      response_format: { type: 'json_object' },
    }
    expect((await revealed('x', options)).options).to.deep.equal({
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 20,
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: -1,
      reasoningEffort: 'low',
      stop: ['END'],
      responseSchema: { type: 'object' },
    })
    const absent = Object.fromEntries(Object.keys(options).map((name) => [name, null]))
    const tools = { tools: null, tool_choice: null, parallel_tool_calls: null, metadata: null }
    expect((await revealed('x', { ...absent, ...tools })).options).to.deep.equal({})
    expect((await revealed('x', { stop: ['a', 'b'], tool_choice: 'auto' })).options).to.deep.equal({ stop: ['a', 'b'] })
  })

  it('passes on its schema, and fails if the answer does not match', async () => {
    const answer = (schema: object) =>
      post(chat('reveal', 'x', { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }))
    const schema = { type: 'object', required: ['options'] }
    const fitting = await answer(schema)
    expect(JSON.parse(fitting.json().choices[0].message.content).options).to.deep.equal({ responseSchema: schema })
    const failed = await answer({ type: 'object', required: ['price'] })
    expect([failed.statusCode, failed.headers['x-should-retry'], failed.json()]).to.deep.equal([
      500,
      'false',
      { detail: "Agent 'reveal' did not answer as the requested schema says: price is missing." },
    ])
  })

  it('passes on tools and tool_choice', async () => {
    const tools = [weather(), { type: 'function', function: { name: 'now', description: null } }]
    const choice = { tool_choice: { type: 'function', function: { name: 'now' } }, parallel_tool_calls: false }
    expect(await revealed('x', { tools, ...choice })).to.deep.equal({
      options: { parallelToolCalls: false, toolChoice: { tool: 'now' } },
      tools: [
        { name: 'weather', description: 'Of a city', parameters: { type: 'object' } },
        { name: 'now', description: '', parameters: { type: 'object', properties: {} } },
      ],
      attachments: [],
    })
    expect((await revealed('x', { tools, tool_choice: 'required' })).options).to.deep.equal({ toolChoice: 'required' })
    expect(await revealed('x', { tools, tool_choice: 'none' })).to.deep.include({ options: {}, tools: [] })
  })

  it('passes bytes and URLs to an agent that accepts them, and fetches nothing', async () => {
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const parts = [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64('png')}` } },
      { type: 'image_url', image_url: { url: 'https://nowhere.invalid/a.JPG?x=1', detail: 'low' } },
      { type: 'image_url', image_url: 'https://nowhere.invalid/picture' },
      { type: 'input_audio', input_audio: { data: base64('mp3'), format: 'mp3' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64('pdf')}` } },
      { type: 'file', file: { filename: 'b.pdf', file_data: base64('raw') } },
    ]
    expect((await revealed(parts, {}, 'sight')).attachments).to.deep.equal([
      { mediaType: 'image/png', data: 'bytes png' },
      { mediaType: 'image/jpeg', data: 'https://nowhere.invalid/a.JPG?x=1', detail: 'low' },
      { mediaType: 'image/*', data: 'https://nowhere.invalid/picture' },
      { mediaType: 'audio/mpeg', data: 'bytes mp3' },
      { mediaType: 'application/pdf', data: 'bytes pdf', name: 'a.pdf' },
      { mediaType: 'application/pdf', data: 'bytes raw', name: 'b.pdf' },
    ])
  })

  it('may have images in earlier messages for an agent that accepts none', async () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
    const messages = [
      { role: 'user', content: [picture] },
      { role: 'user', content: 'x' },
    ]
    const answer = async (model: string) =>
      JSON.parse((await post({ model, messages })).json().choices[0].message.content).attachments.length
    expect([await answer('reveal'), await answer('sight')]).to.deep.equal([0, 1])
  })

  it('gets reasoning, attachments as Markdown, and token details', async () => {
    const expected = 'Here:\n![dot](data:image/png;base64,cG5n)\n\n[application/pdf](https://example.test/a.pdf)\n'
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 4,
      total_tokens: 9,
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 2 },
    }
    const body = (await post(chat('show', 'x'))).json()
    expect(body.choices[0].message).to.deep.equal({
      role: 'assistant',
      content: expected,
      reasoning_content: 'Let me draw.',
    })
    expect(body.usage).to.deep.equal(usage)
    const streamed = await post(chat('show', 'x', { stream: true, stream_options: { include_usage: true } }))
    const chunks = readEvents(streamed.body).slice(0, -1) as { choices: { delta: Delta }[]; usage?: object }[]
    const joined = (field: keyof Delta) => chunks.map(({ choices }) => choices[0]?.delta[field] ?? '').join('')
    expect([joined('reasoning_content'), joined('content')]).to.deep.equal(['Let me draw.', expected])
    expect(chunks.at(-1)?.usage).to.deep.equal(usage)
  })

  it('may restrict the tools that can be called', async () => {
    const tools = ['a', 'b', 'c'].map((name) => weather({ name }))
    const choose = (mode: string, ...names: string[]) =>
      revealed('x', { tools, tool_choice: allowed(mode, ...names) }).then(({ options, tools: seen }) => [
        options,
        seen.map(({ name }: { name: string }) => name),
      ])
    expect(await choose('auto', 'a', 'c')).to.deep.equal([{}, ['a', 'c']])
    expect(await choose('required', 'b')).to.deep.equal([{ toolChoice: 'required' }, ['b']])
  })

  it('of the specification may have any text or object as tool_choice; without an effect if it cannot be met', async () => {
    const tools = [weather()]
    const now = { type: 'function', function: { name: 'now' } }
    for (const tool_choice of ['any', {}, { type: 'browser' }, now, allowed('required', 'now')]) {
      expect((await revealed('x', { tools, tool_choice })).options, JSON.stringify(tool_choice)).to.deep.equal({})
    }
    expect((await revealed('x', { tool_choice: 'required' })).options).to.deep.equal({ toolChoice: 'required' })
    const unmet = await post(chat('echo', 'x', { tools, tool_choice: 'required' }))
    expect([unmet.statusCode, unmet.json().choices[0].message.content]).to.deep.equal([200, 'x'])
  })

  it('may have strict tools', async () => {
    const { tools } = await revealed('x', {
      tools: [weather({ strict: true }), weather({ name: 'now', strict: false })],
    })
    expect(tools.map(({ strict }: { strict?: boolean }) => strict)).to.deep.equal([true, undefined])
  })

  it('gets back pictures and refusals of earlier answers as what they were, not as the text of a link', async () => {
    const { app } = await makeServer({}, FILES)
    const ask = (payload: object) => app.inject({ method: 'POST', url: COMPLETIONS, payload })
    const { message } = (await ask(chat('show', 'x'))).json().choices[0]
    const history = [
      { role: 'user', content: 'draw' },
      message,
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }] },
      { role: 'assistant', content: null, refusal: 'Never.' },
      { role: 'user', content: 'What did you draw?' },
    ]
    const reply = (await ask({ model: 'sight', messages: history })).json().choices[0].message.content
    const { attachments, said } = JSON.parse(reply)
    expect(attachments).to.deep.equal([{ mediaType: 'image/png', data: 'bytes png', name: 'dot' }])
    expect(said).to.deep.equal(['Here:\n[application/pdf](https://example.test/a.pdf)\n', 'I will not.', 'Never.'])
  })

  const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }
  const said = { role: 'assistant', content: null, tool_calls: [call] }
  const after = (...messages: object[]) => ({
    model: 'reveal',
    messages: [{ role: 'user', content: 'x' }, ...messages],
  })
  const picture = (image_url: unknown) => chat('sight', [{ type: 'image_url', image_url }])
  const refused: [title: string, payload: object, field: string | null, message: string][] = [
    [
      'a tool of a type that is not known',
      chat('reveal', 'x', { tools: [weather(), { type: 'browser' }] }),
      'tools[1].type',
      "tools[1].type must be one of 'function' and 'custom'.",
    ],
    [
      'a tool without a name',
      chat('reveal', 'x', { tools: [{ type: 'function', function: {} }] }),
      'tools[0].function.name',
      'tools[0].function.name is missing.',
    ],
    [
      'a choice of a tool that is not there',
      chat('reveal', 'x', { tools: [weather()], tool_choice: { type: 'function', function: { name: 'now' } } }),
      'tool_choice',
      "tool_choice: there is no tool 'now' in tools.",
    ],
    [
      'a choice that an agent cannot meet',
      chat('echo', 'x', { tools: [weather()], tool_choice: 'required', stream: true }),
      'tool_choice',
      "tool_choice: agent 'echo' cannot call the tools of a client.",
    ],
    [
      'a schema that is missing',
      chat('reveal', 'x', { response_format: { type: 'json_schema', json_schema: {} } }),
      'response_format.json_schema.schema',
      'response_format.json_schema.schema is missing.',
    ],
    [
      'a call without an answer',
      after(said, { role: 'user', content: 'and?' }),
      'messages[1].tool_calls',
      "messages[1].tool_calls has no answer to the call 'c1': add a message of the role 'tool'.",
    ],
    [
      'an answer to an unknown call',
      after(said, { role: 'tool', tool_call_id: 'c2', content: 'x' }),
      'messages[2].tool_call_id',
      "messages[2].tool_call_id answers a call that no message before it makes: 'c2'.",
    ],
    [
      'an answer that names no call',
      after(said, { role: 'tool', content: 'x' }),
      'messages[2].tool_call_id',
      'messages[2].tool_call_id is missing.',
    ],
    [
      'a call without a name',
      after({ ...said, tool_calls: [{ id: 'c1', function: { arguments: '' } }] }),
      'messages[1].tool_calls[0].function.name',
      'messages[1].tool_calls[0].function.name is missing.',
    ],
    [
      'a picture without an address',
      picture({ detail: 'low' }),
      'messages[0].content[0].image_url.url',
      'messages[0].content[0].image_url.url is missing.',
    ],
    [
      'a picture of the file system',
      picture({ url: 'file:///etc/passwd' }),
      'messages[0].content[0].image_url.url',
      'messages[0].content[0].image_url.url must be an http(s) URL, or a data URL in base64',
    ],
    [
      'a file by its id',
      chat('sight', [{ type: 'file', file: { file_id: 'file-1' } }]),
      'messages[0].content[0].file.file_id',
      'messages[0].content[0].file.file_id cannot be read here: send file_data.',
    ],
    [
      'a part that the agent does not take',
      chat('sight', [{ type: 'file', file: { file_data: 'data:text/csv;base64,AA==' } }]),
      'messages[0].content[0].type',
      "messages: the last user message has a part of the type 'file'; the agent takes text and image/*, audio/*, application/pdf",
    ],
    [
      'allowed tools that are not there',
      chat('reveal', 'x', { tools: [weather()], tool_choice: allowed('auto', 'weather', 'now') }),
      'tool_choice',
      "tool_choice: there is no tool 'now' in tools.",
    ],
    [
      'two tools of one name',
      chat('reveal', 'x', { tools: [weather(), weather()], stream: true }),
      'tools',
      "tools: two of them have the name 'weather'.",
    ],
    ['several answers', chat('reveal', 'x', { n: 2 }), 'n', 'n must be 1: an agent gives one answer.'],
    [
      'probabilities',
      chat('reveal', 'x', { logprobs: true, top_logprobs: 2 }),
      'logprobs',
      'logprobs must be false: agents report no probabilities.',
    ],
    [
      'an answer that is sound',
      chat('reveal', 'x', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }),
      'modalities',
      'modalities must be ["text"]: sound and images of an answer are links in its text.',
    ],
    [
      'functions',
      chat('reveal', 'x', { functions: [{ name: 'weather' }], function_call: 'auto' }),
      'functions',
      'functions cannot be called: send them as tools.',
    ],
    [
      'no room for an answer',
      chat('reveal', 'x', { max_completion_tokens: 0 }),
      'max_completion_tokens',
      'max_completion_tokens must be a whole number of at least 1 or null.',
    ],
    [
      'a second answer to a call',
      after(said, ...['rain', 'sun'].map((content) => ({ role: 'tool', tool_call_id: 'c1', content }))),
      'messages[3].tool_call_id',
      "messages[3].tool_call_id answers a call that is answered already: 'c1'.",
    ],
    [
      'two calls with one id',
      after({ ...said, tool_calls: [call, call] }, { role: 'tool', tool_call_id: 'c1', content: 'x' }),
      'messages[1].tool_calls',
      "messages[1].tool_calls has another call with the id 'c1'.",
    ],
    [
      'a picture without bytes',
      picture({ url: 'data:image/png;base64,###' }),
      'messages[0].content[0]',
      'messages[0].content[0] holds no bytes in base64',
    ],
    [
      'sound of a format that is none',
      chat('sight', [{ type: 'input_audio', input_audio: { data: 'AQID', format: '../x' } }]),
      'messages[0].content[0].input_audio.format',
      'messages[0].content[0].input_audio.format must be a format such as wav or mp3.',
    ],
    [
      'a text that is none',
      chat('sight', [{ type: 'text', text: 5 }]),
      'messages[0].content[0].text',
      'messages[0].content[0].text must be a string.',
    ],
    [
      'an option that an agent refuses, streamed too',
      chat('refusing', 'x', { seed: 1, stream: true }),
      null,
      "Agent 'refusing' takes no options for its model (here: seed).",
    ],
  ]
  for (const [title, payload, param, message] of refused) {
    it(`gets 400 for ${title}`, async () => {
      const { app } = await makeServer({}, FILES)
      const response = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload })
      expect([response.statusCode, response.json().error]).to.deep.equal([
        400,
        { message, type: 'invalid_request_error', param, code: null },
      ])
    })
  }
})

interface Delta {
  content?: string
  reasoning_content?: string
}
