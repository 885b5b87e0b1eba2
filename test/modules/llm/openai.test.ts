import { expect } from 'chai'
import openai from '../../../modules/llm/openai.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import {
  afterAsking,
  afterTwoCalls,
  connectsVendor,
  describeKey,
  describeVendor,
  plays,
  twoCalls,
  type VendorCase,
  weather,
} from '../../suites/vendor-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { type Answer, event } from '../../support/fake-model-server.ts'
import { type makeContext, makeRun, says } from '../../support/fake-run.ts'
import { chatWire, responsesWire } from '../../support/model-wires.ts'

const responses: VendorCase = {
  reference: 'llm/openai',
  module: openai,
  wire: responsesWire,
  config: (url) => ({ base_url: `${url}/v1` }),
  environment: { OPENAI_API_KEY: 'sk-proj-secret' },
}
const chat: VendorCase = {
  ...responses,
  wire: chatWire(),
  config: (url) => ({ base_url: `${url}/v1`, api: 'chat' }),
}
const picture = { mediaType: 'image/png', data: Uint8Array.from([1, 2, 3]) }

describe('llm/openai', () => {
  describe('responses', () => {
    describeVendor(responses)
    describeKey(responses)
    const connect = connectsVendor(responses)

    for (const api of ['responses', 'chat'] as const) {
      it(`sends pictures in the detail that the client wants, to ${api}`, async () => {
        const { wire } = api === 'chat' ? chat : responses
        const { server, llm } = await connect([plays(wire, { text: ['a'] })], { api })
        const attachments = [picture, { ...picture, data: new URL('https://x.y/z.png') }]
        const detailed = attachments.map((each) => ({ ...each, detail: 'low' }))
        await collect(llm, { messages: [{ role: 'user', content: 'see', attachments: detailed }] })
        expect(JSON.stringify(server.requests[0]?.body).match(/"detail":"low"/g)).to.have.lengthOf(2)
      })
    }

    it('sends the key, the whole conversation, tools and images, with store: false', async () => {
      const { server, llm } = await connect([plays(responsesWire, twoCalls)], {
        temperature: 0.5,
        max_output_tokens: 99,
      })
      await collect(llm, {
        messages: [
          ...afterTwoCalls,
          {
            role: 'user',
            content: 'This?',
            attachments: [picture, { ...picture, data: new URL('https://x.y/z.png') }],
          },
        ],
        tools: [weather],
        toolChoice: { tool: 'weather' },
      })
      const [request] = server.requests
      expect(request?.url).to.equal('/v1/responses')
      expect(request?.headers.authorization).to.equal('Bearer sk-proj-secret')
      expect(request?.body).to.deep.equal({
        model: 'm',
        stream: true,
        store: false,
        temperature: 0.5,
        max_output_tokens: 99,
        tools: [{ type: 'function', ...weather, strict: false }],
        tool_choice: { type: 'function', name: 'weather' },
        input: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
          { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
          { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: '{"city":"Oslo"}' },
          { type: 'function_call', call_id: 'call_b', name: 'weather', arguments: '{"city":"Lima"}' },
          { type: 'function_call_output', call_id: 'call_a', output: 'snow' },
          { type: 'function_call_output', call_id: 'call_b', output: 'sun' },
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'This?' },
              { type: 'input_image', image_url: 'data:image/png;base64,AQID' },
              { type: 'input_image', image_url: 'https://x.y/z.png' },
            ],
          },
        ],
      })
    })

    it("returns the model's reasoning before its calls", async () => {
      const { server, llm } = await connect([plays(responsesWire, twoCalls)], {
        model: 'gpt-5-mini',
        reasoning_effort: 'low',
        reasoning_summary: 'auto',
      })
      await collect(llm, { messages: await afterAsking(llm), tools: [weather] })
      const [first = {}, second = {}]: Record<string, unknown>[] = server.requests.map(({ body }) => body)
      expect(first).to.deep.include({
        reasoning: { effort: 'low', summary: 'auto' },
        include: ['reasoning.encrypted_content'],
      })
      const thought = (second.input as { type?: string }[]).filter(({ type }) => type === 'reasoning')
      expect(thought).to.deep.equal([
        {
          type: 'reasoning',
          id: 'rs_1',
          encrypted_content: 'sealed',
          summary: [{ type: 'summary_text', text: 'let me see' }],
        },
      ])
      await collect(llm, { messages: afterTwoCalls, tools: [weather] }, makeRun({ id: 'run-2' }))
      expect(JSON.stringify(server.requests[2]?.body)).not.to.contain('sealed')
    })

    it('has strict tools where they ask for it, and OpenAI supports their schema', async () => {
      const { server, llm } = await connect([plays(responsesWire, { text: ['ok'] })])
      const parameters = { type: 'object', properties: { n: {} }, required: ['n'], additionalProperties: false }
      const tools = [
        { ...weather, name: 'a', strict: true, parameters },
        { ...weather, name: 'b', strict: true, parameters: { type: 'object', properties: { n: {} } } },
        { ...weather, name: 'c', parameters },
      ]
      await collect(llm, { messages: [says('hi')], tools })
      const sent = server.requests[0]?.body.tools as { strict: boolean }[]
      expect(sent.map(({ strict }) => strict)).to.deep.equal([true, false, false])
    })

    it('hands Lark grammars on, and gets texts', async () => {
      const answer: Answer = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const call = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_l', name: 'draw', input: '' }
        const base = { id: 'r', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] }
        const usage = { input_tokens: 1, output_tokens: 1 }
        for (const [type, fields] of Object.entries({
          'response.created': { response: base },
          'response.output_item.added': { output_index: 0, item: call },
          'response.custom_tool_call_input.delta': { output_index: 0, item_id: 'ctc_1', delta: 'dot' },
          'response.custom_tool_call_input.done': { output_index: 0, item_id: 'ctc_1', input: 'dot' },
          'response.output_item.done': { output_index: 0, item: { ...call, input: 'dot', status: 'completed' } },
          'response.completed': { response: { ...base, status: 'completed', usage } },
        })) {
          response.write(event({ type, ...fields }))
        }
        response.end()
      }
      const { server, llm } = await connect([answer, plays(responsesWire, { text: ['ok'] })])
      const parameters = { type: 'object', properties: { input: { type: 'string' } } }
      const client = { name: 'draw', isCustom: true, lark: 'start: "dot"' }
      const tools = [{ name: 'draw', description: 'Draws.', parameters, client }]
      const parts = await collect(llm, { messages: [says('draw')], tools })
      const call = parts.flatMap((part) => (part.type === 'tool_call' ? [part.call] : []))[0]
      expect(call).to.deep.include({ id: 'call_l', name: 'draw', arguments: { input: 'dot' } })
      const messages = [
        says('draw'),
        { role: 'assistant' as const, content: '', toolCalls: call ? [call] : [] },
        { role: 'tool' as const, content: 'drawn', toolCallId: 'call_l' },
      ]
      await collect(llm, { messages, tools })
      const [first, second] = server.requests.map(({ body }) => body)
      const format = { type: 'grammar', syntax: 'lark', definition: 'start: "dot"' }
      expect(first?.tools).to.deep.equal([{ type: 'custom', name: 'draw', description: 'Draws.', format }])
      expect(second?.input).to.deep.include.members([
        { type: 'custom_tool_call_output', call_id: 'call_l', output: 'drawn' },
      ])
      const sent = (second?.input as Record<string, unknown>[] | undefined)?.find(
        ({ type }) => type === 'custom_tool_call',
      )
      expect(sent).to.deep.include({ call_id: 'call_l', name: 'draw', input: 'dot' })
    })

    it('passes on what a model wrote instead of the text for a Lark grammar, and sends an empty one back', async () => {
      const { server, llm } = await connect([
        plays(responsesWire, { calls: [{ id: 'a', name: 'draw', json: ['{"n":1}'] }] }),
      ])
      const client = { name: 'draw', isCustom: true, lark: 'start: "dot"' }
      const tools = [{ name: 'draw', description: 'Draws.', parameters: { type: 'object' }, client }]
      const [part] = await collect(llm, { messages: [says('draw')], tools })
      const call = { id: 'a', name: 'draw', arguments: {}, unreadable: '{"n":1}' }
      expect(part).to.deep.include({ type: 'tool_call', call: { ...(part as { call: object }).call, ...call } })
      await collect(llm, { messages: [says('draw'), { role: 'assistant', content: '', toolCalls: [call] }], tools })
      const input = server.requests[1]?.body.input as object[]
      expect(input.at(-1)).to.deep.include({ type: 'custom_tool_call', input: '' })
    })

    it('requests an answer that matches a schema, strict if OpenAI supports that', async () => {
      const { server, llm } = await connect([plays(responsesWire, { text: ['{"n":', '1}'] })])
      const loose = { type: 'object', properties: { n: { type: 'number' } } }
      const strict = { ...loose, required: ['n'], additionalProperties: false }
      for (const responseSchema of [loose, strict, { ...strict, properties: { n: loose } }]) {
        expect(textOf(await collect(llm, { messages: [says('hi')], responseSchema }))).to.equal('{"n":1}')
      }
      const formats = server.requests.map(({ body }) => (body.text as { format: { strict: boolean } }).format)
      expect(formats[1]).to.deep.equal({ type: 'json_schema', name: 'response', schema: strict, strict: true })
      expect(formats.map((format) => format.strict)).to.deep.equal([false, true, false])
    })

    it('reports an error event mid-stream', async () => {
      const { llm } = await connect([
        (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          for (const piece of responsesWire.answer({ text: ['one', ' two'] }).slice(0, -2)) response.write(piece)
          const error = { code: 'server_error', message: 'the machine is on fire', param: null }
          response.end(event({ type: 'error', sequence_number: 9, ...error }))
        },
      ])
      expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(
        /^The stream of .* broke off: the machine is on fire$/,
      )
    })

    it("sends more options by the AI SDK's names, and warns once about unsupported ones", async () => {
      const { server, llm, context } = await connect([plays(responsesWire, twoCalls)], {
        model: 'gpt-5-mini',
        temperature: 0.5,
        options: { user: 'someone', store: true },
      })
      await collect(llm, { messages: [says('hi')] })
      await collect(llm, { messages: [says('hi')] })
      expect(server.requests[0]?.body)
        .to.include({ user: 'someone', store: true })
        .and.not.to.have.property('temperature')
      expect((context as ReturnType<typeof makeContext>).lines).to.deep.equal([
        `warn The model 'gpt-5-mini' of llm/openai at ${server.url}: temperature: temperature is not supported for reasoning models`,
      ])
    })
  })

  describe('chat', () => {
    describeVendor(chat)
    describeKey(chat)
    const connect = connectsVendor(chat)

    it('sends chat completions, with token limits in the form that reasoning models accept', async () => {
      const { server, llm } = await connect([plays(chat.wire, twoCalls)], {
        model: 'gpt-5-mini',
        max_output_tokens: 99,
        reasoning_effort: 'low',
      })
      await collect(llm, { messages: afterTwoCalls, tools: [weather] })
      expect(server.requests[0]?.url).to.equal('/v1/chat/completions')
      expect(server.requests[0]?.body).to.deep.include({
        max_completion_tokens: 99,
        reasoning_effort: 'low',
        store: false,
        tools: [{ type: 'function', function: { ...weather, strict: false } }],
      })
    })
  })
})
