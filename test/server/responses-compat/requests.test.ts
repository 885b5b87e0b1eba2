import { expect } from 'chai'
import { makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

/** `reveal` answers what reached it as JSON. `talk`, which is in every project here, takes no tools. */
const FILES = {
  'agents/reveal.yml': 'id: reveal\nmodules: [{ id: main, module: reveal }]',
  'agents/draw.yml': 'id: draw\nmodules: [{ id: main, module: draw }]',
  'modules/draw.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Draw', provides: [TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({ handleText: () => response.respondImage({ mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) }) }) })`,
  'modules/reveal.ts': `import { ConversationHistory, defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Reveal', provides: [TextMessageHandler], attachments: ['*/*'],
  uses: { response: Response, history: ConversationHistory, tools: many(ToolProvider) },
  create: ({ response, history }) => ({ async handleText(_text, run) {
    const messages = (await history.getHistory()).map(({ role, content, attachments = [] }) =>
      [role, content, ...attachments.map(({ mediaType, data }) => mediaType + ' ' + data.length)])
    await response.respondText(JSON.stringify({ options: run.requestOptions, tools: run.clientTools.map(({ name, strict }) => strict ? name + '!' : name), messages }))
  } }) })`,
}

const tool = (name: string, more: object = {}) => ({ type: 'function', name, parameters: { type: 'object' }, ...more })
const call = { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'c1', output: 'x' }
const user = (content: unknown) => ({ role: 'user', content })
const allowed = (mode: string, ...tools: object[]) => ({ type: 'allowed_tools', mode, tools })

describe('a request for a response', () => {
  afterEach(closeServers)

  const revealed = async (body: object) => {
    const { inject } = await makeResponses({}, FILES)
    return JSON.parse(textOf((await inject('POST', '', { model: 'reveal', input: 'x', ...body })).json()))
  }

  it('may restrict the tools that can be called; tools of other types are ignored', async () => {
    const tools = [tool('a', { strict: true }), tool('b'), { type: 'web_search' }]
    const choose = (tool_choice: unknown) => revealed({ tools, tool_choice, parallel_tool_calls: false })
    expect(await choose('auto')).to.deep.include({ options: { parallelToolCalls: false }, tools: ['a!', 'b'] })
    expect(await choose(allowed('required', { type: 'function', name: 'b' }, { type: 'web_search' }))).to.deep.include({
      options: { parallelToolCalls: false, toolChoice: 'required' },
      tools: ['b'],
    })
    expect(await choose(allowed('auto', { type: 'function', name: 'a' }))).to.deep.include({ tools: ['a!'] })
  })

  it("leaves a required call to the agent's own tools when the client sends none", async () => {
    for (const tools of [[], [{ type: 'web_search' }]]) {
      expect(await revealed({ tools, tool_choice: 'required' })).to.deep.include({
        options: { toolChoice: 'required' },
      })
    }
  })

  it('of the specification may have any text or object as tool_choice, which is returned; without an effect if it cannot be met', async () => {
    const { inject } = await makeResponses({}, FILES)
    const named = { type: 'function', name: 'z' }
    const choices = ['any', '', {}, { type: 'web_search' }, named, allowed('required', named), allowed('all')]
    for (const tool_choice of choices) {
      const record = (await inject('POST', '', { model: 'reveal', input: 'x', tools: [tool('a')], tool_choice })).json()
      expect(record.tool_choice).to.deep.equal(tool_choice)
      expect(JSON.parse(textOf(record)).options, JSON.stringify(tool_choice)).to.deep.equal({})
    }
    const unmet = { model: 'talk', input: 'say a', tools: [tool('a')], tool_choice: 'required' }
    expect((await inject('POST', '', unmet)).json()).to.include({ status: 'completed', tool_choice: 'required' })
    for (const tool_choice of [5, true, ['auto']]) {
      const reply = await inject('POST', '', { model: 'talk', input: 'x', tool_choice })
      expect([reply.statusCode, reply.json()]).to.deep.equal([
        400,
        { detail: 'tool_choice must be a string, an object or null.' },
      ])
    }
  })

  it("hides the client's tools with the choice none, and leaves the agent's own alone", async () => {
    expect(await revealed({ tools: [tool('a')], tool_choice: 'none' })).to.deep.include({ options: {}, tools: [] })
  })

  it('has pictures, links and refusals of earlier answers as what they were', async () => {
    const input = [
      user('draw'),
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: '/9j/AAAA' },
      {
        role: 'assistant',
        content: [{ type: 'output_text', text: 'See \n[a.pdf](data:application/pdf;base64,AQID)\n.' }],
      },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }] },
      user('What did you draw?'),
    ]
    expect((await revealed({ input })).messages).to.deep.equal([
      ['user', 'draw'],
      ['assistant', '', 'image/jpeg 6'],
      ['assistant', 'See .', 'application/pdf 3'],
      ['assistant', 'I will not.'],
      ['user', 'What did you draw?'],
    ])
  })

  it('finds an image that is named by its id alone', async () => {
    const { inject } = await makeResponses({}, FILES)
    const drawn = (await inject('POST', '', { model: 'draw', input: 'x' })).json().output
    expect(drawn[0]).to.deep.include({ type: 'image_generation_call', result: 'AQID' })
    const input = [user('draw'), { ...drawn[0], result: null }, user('What did you draw?')]
    const reply = (await inject('POST', '', { model: 'reveal', input })).json()
    expect(JSON.parse(textOf(reply)).messages[1]).to.deep.equal(['assistant', '', 'image/png 3'])
  })

  const choice = 'tool_choice'
  const format = (value: unknown) => ({ text: { format: value } })
  const refused: [title: string, body: object, param: string | null, message: string][] = [
    [
      'a choice that the agent cannot meet',
      { model: 'talk', tools: [tool('a')], [choice]: 'required' },
      choice,
      "tool_choice: agent 'talk' cannot call the tools of a client.",
    ],
    [
      'a choice that is not known',
      { tools: [tool('a')], [choice]: 'any' },
      choice,
      "tool_choice must be one of 'auto', 'none' and 'required', or an object or null.",
    ],
    [
      "a choice of a vendor's own tool",
      { tools: [tool('a')], [choice]: { type: 'web_search' } },
      'tool_choice.type',
      "tool_choice.type must be one of 'function', 'custom' and 'allowed_tools'.",
    ],
    [
      'a choice of a tool that is not there',
      { tools: [tool('a')], [choice]: { type: 'function', name: 'z' } },
      choice,
      "tool_choice: there is no tool 'z' in tools.",
    ],
    [
      'allowed tools that are no list',
      { tools: [tool('a')], [choice]: { type: 'allowed_tools', mode: 'auto', tools: 5 } },
      'tool_choice.tools',
      'tool_choice.tools must be an array.',
    ],
    [
      'allowed tools that are not there',
      { tools: [tool('a')], [choice]: allowed('required', { type: 'function', name: 'q' }) },
      choice,
      "tool_choice: there is no tool 'q' in tools.",
    ],
    [
      'a call of nothing',
      { tools: [tool('a')], [choice]: allowed('required', { type: 'web_search' }) },
      choice,
      'tool_choice requires a call, but allows no tool of the type function.',
    ],
    ['a tool without a type', { tools: [{ name: 'a' }] }, 'tools[0].type', 'tools[0].type is missing.'],
    [
      'a name with a dot',
      { tools: [tool('a'), tool('a.b')] },
      'tools[1].name',
      'tools[1].name must be 1 to 64 letters, digits, _ or -',
    ],
    [
      'parameters that are no schema',
      { tools: [tool('a', { parameters: [] })] },
      'tools[0].parameters',
      'tools[0].parameters must be a JSON Schema',
    ],
    ['two tools of one name', { tools: [tool('a'), tool('a')] }, 'tools', "tools: two of them have the name 'a'."],
    [
      'a format that is not known',
      format({ type: 'xml' }),
      'text.format.type',
      "text.format.type must be one of 'text', 'json_object' and 'json_schema'.",
    ],
    [
      'a schema that is missing',
      format({ type: 'json_schema' }),
      'text.format.schema',
      'text.format.schema is missing.',
    ],
    [
      'a schema with a reference to nothing',
      format({
        type: 'json_schema',
        schema: { properties: { a: { items: { $ref: '#/$defs/A' } } }, $defs: { B: {} } },
      }),
      null,
      "The schema of the answer cannot be used: its $ref '#/$defs/A' leads nowhere.",
    ],
    [
      'an effort that is no word',
      { reasoning: { effort: 5 } },
      'reasoning.effort',
      'reasoning.effort must be a string or null.',
    ],
    [
      'no room for an answer',
      { max_output_tokens: 0 },
      'max_output_tokens',
      'max_output_tokens must be a whole number of at least 1 or null.',
    ],
    [
      'fields of the chat API',
      { response_format: { type: 'json_object' } },
      'response_format',
      'response_format is a field of the chat API: send text.format.',
    ],
    [
      'a prompt that is not here',
      { prompt: { id: 'pmpt_1' } },
      'prompt',
      'prompt is a template of another server: send its text as instructions.',
    ],
    [
      'a second output of a call',
      { input: [user('x'), call, output, output] },
      'input[3].call_id',
      "input[3].call_id is that of a call that has an output already: 'c1'",
    ],
    [
      'two open calls with one id',
      { input: [user('x'), call, call, output] },
      'input[2].call_id',
      "input[2].call_id is that of another call without an output: 'c1'",
    ],
    [
      'a second output of an earlier call',
      { input: [output, output] },
      'input[1].call_id',
      "input[1].call_id is that of a call that has an output already: 'c1'",
    ],
    ['an output that nobody waits for', { input: [output] }, 'input', "input: no call 'c1' waits for an output"],
    [
      'a file by its id',
      { input: [user([{ type: 'input_image', file_id: 'f' }])] },
      'input[0].content[0].file_id',
      'input[0].content[0].file_id: this server keeps no files. Send the data or a URL.',
    ],
    [
      'a picture without bytes',
      { input: [user([{ type: 'input_image', image_url: 'data:image/png;base64,' }])] },
      'input[0].content[0]',
      'input[0].content[0] holds no bytes in base64',
    ],
    [
      'sound without a format',
      { input: [user([{ type: 'input_audio', input_audio: { data: 'AQID' } }])] },
      'input[0].content[0].input_audio.format',
      'input[0].content[0].input_audio.format must be a format such as wav or mp3.',
    ],
    [
      'a text that is none',
      { input: [user([{ type: 'input_text', text: 5 }])] },
      'input[0].content[0].text',
      'input[0].content[0].text must be a string',
    ],
    [
      'two ways to continue',
      { previous_response_id: 'resp_x', conversation: 'conv_x' },
      'conversation',
      'conversation and previous_response_id exclude each other',
    ],
  ]
  it('gets 400 with the field that is wrong, streamed or not', async () => {
    const { app } = await makeResponses({}, FILES)
    for (const [title, body, param, message] of refused) {
      for (const stream of [false, true]) {
        const payload = { model: 'reveal', input: 'x', stream, ...body }
        const reply = await app.inject({ method: 'POST', url: '/v1/responses', payload })
        const error = { message, type: 'invalid_request_error', param, code: null }
        expect([reply.statusCode, reply.json().error], title).to.deep.equal([400, error])
      }
    }
  })
})
