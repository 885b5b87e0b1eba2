import type { ServerResponse } from 'node:http'
import type { Message } from 'agent-host'
import { expect } from 'chai'
import anthropic from '../../../modules/llm/anthropic.ts'
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
import { event } from '../../support/fake-model-server.ts'
import { type makeContext, makeRun, says } from '../../support/fake-run.ts'
import { anthropicWire } from '../../support/model-wires.ts'

const vendor: VendorCase = {
  reference: 'llm/anthropic',
  module: anthropic,
  wire: anthropicWire,
  refusesBlank: true,
  saysStopSequence: true,
  config: (url) => ({ base_url: url }),
  environment: { ANTHROPIC_API_KEY: 'sk-ant-secret' },
  // Anthropic counts what was thought among the output.
  usage: { reasoningTokens: 0 },
}
const picture = { mediaType: 'image/png', data: Uint8Array.from([1, 2, 3]) }

describe('llm/anthropic', () => {
  describeVendor(vendor)
  describeKey(vendor)
  const connect = connectsVendor(vendor)

  it('asks for the number of tokens of a request, without an answer', async () => {
    const count = (response: ServerResponse) =>
      void response.setHeader('content-type', 'application/json').end('{"input_tokens":42}')
    const { server, llm } = await connect([count], { max_output_tokens: 99 })
    const counted = await llm.countTokens?.({ messages: [says('hi')], tools: [weather], stop: ['END'] }, makeRun())
    expect(counted).to.equal(42)
    const [request] = server.requests
    expect(request?.url).to.equal('/v1/messages/count_tokens')
    expect(request?.headers).to.include({ 'x-api-key': 'sk-ant-secret' })
    expect(Object.keys(request?.body as object).toSorted()).to.deep.equal(['messages', 'model', 'tool_choice', 'tools'])
  })

  it('follows no redirect to another origin when it asks for the number of tokens', async () => {
    const other = await connect([plays(anthropicWire, { text: ['no'] })])
    const { llm } = await connect([(response) => void response.writeHead(307, { location: other.server.url }).end()])
    const counting = llm.countTokens?.({ messages: [says('hi')] }, makeRun()) ?? Promise.resolve()
    expect(await failure(counting)).to.contain(`the server redirects to ${new URL(other.server.url).origin}, which`)
    expect(other.server.requests).to.deep.equal([])
  })

  it('sends the key, the whole conversation, tools and images, and the results of one step together', async () => {
    const { server, llm } = await connect([plays(anthropicWire, twoCalls)], {
      temperature: 0.5,
      max_output_tokens: 99,
    })
    await collect(llm, {
      messages: [
        ...afterTwoCalls,
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'This?', attachments: [picture, { ...picture, data: new URL('https://x.y/z.png') }] },
      ],
      tools: [weather],
      toolChoice: { tool: 'weather' },
      stop: ['END'],
    })
    const [request] = server.requests
    expect(request?.url).to.equal('/v1/messages')
    expect(request?.headers).to.include({ 'x-api-key': 'sk-ant-secret', 'anthropic-version': '2023-06-01' })
    expect(request?.body).to.deep.equal({
      model: 'm',
      stream: true,
      temperature: 0.5,
      max_tokens: 99,
      stop_sequences: ['END'],
      system: [
        { type: 'text', text: 'Be kind.' },
        { type: 'text', text: 'Be brief.' },
      ],
      tools: [{ name: 'weather', description: 'Tells the weather.', input_schema: weather.parameters }],
      tool_choice: { type: 'tool', name: 'weather' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'call_a', name: 'weather', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'call_b', name: 'weather', input: { city: 'Lima' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_a', content: 'snow' },
            { type: 'tool_result', tool_use_id: 'call_b', content: 'sun' },
            { type: 'text', text: 'This?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' } },
            { type: 'image', source: { type: 'url', url: 'https://x.y/z.png' } },
          ],
        },
      ],
    })
  })

  it('returns signed reasoning before the calls, as extended thinking requires', async () => {
    const { server, llm } = await connect([plays(anthropicWire, twoCalls)], {
      model: 'claude-sonnet-4-5',
      thinking_budget: 2000,
    })
    await collect(llm, { messages: await afterAsking(llm), tools: [weather] })
    const [first = {}, second = {}]: Record<string, unknown>[] = server.requests.map(({ body }) => body)
    expect(first.thinking).to.deep.equal({ type: 'enabled', budget_tokens: 2000 })
    const [, answer] = second.messages as { content: object[] }[]
    expect(answer?.content).to.deep.equal([
      { type: 'thinking', thinking: 'let me see', signature: 'signed' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'call_a', name: 'weather', input: { city: 'Oslo' } },
      { type: 'tool_use', id: 'call_b', name: 'weather', input: { city: 'Lima' } },
    ])
  })

  it("sends a tool's attachments, and marks failed calls", async () => {
    const { server, llm } = await connect([plays(anthropicWire, twoCalls)])
    const attachments = [picture, { mediaType: 'audio/wav', data: Uint8Array.of(1) }]
    const results: Message[] = [
      { role: 'tool', content: 'snow', toolCallId: 'call_a', attachments },
      { role: 'tool', content: 'no such city', toolCallId: 'call_b', isError: true },
    ]
    await collect(llm, { messages: [...afterTwoCalls.slice(0, 3), ...results], tools: [weather] })
    const messages = server.requests[0]?.body.messages as { content: { content: unknown; is_error?: boolean }[] }[]
    const [first, second] = messages.at(-1)?.content ?? []
    expect(first?.content).to.deep.equal([
      { type: 'text', text: 'snow\n[attachment: audio/wav]' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQID' } },
    ])
    expect([second?.content, second?.is_error]).to.deep.equal(['Error: no such city', true])
  })

  it('requests an answer that matches a schema: by format for new models, by tool for old ones', async () => {
    const responseSchema = {
      type: 'object',
      properties: { n: { type: 'number' } },
      required: ['n'],
      additionalProperties: false,
    }
    const recent = await connect([plays(anthropicWire, { text: ['{"n":', '1}'] })], { model: 'claude-sonnet-4-5' })
    expect(textOf(await collect(recent.llm, { messages: [says('hi')], responseSchema }))).to.equal('{"n":1}')
    expect(JSON.stringify(recent.server.requests[0]?.body)).to.contain('"json_schema"')
    const call = { id: 'call_j', name: 'json', json: ['{"n":', '1}'] }
    const old = await connect([plays(anthropicWire, { calls: [call] })], { model: 'claude-3-haiku-20240307' })
    const parts = await collect(old.llm, { messages: [says('hi')], responseSchema })
    expect(textOf(parts)).to.equal('{"n":1}')
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop', model: 'm' })
    expect(old.llm.modelInfo).to.deep.equal({ name: 'claude-3-haiku-20240307', provider: 'anthropic' })
  })

  it('retries a request if the first event says that the server is overloaded', async () => {
    const { server, llm } = await connect([
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(anthropicWire.error('Overloaded'))
      },
      plays(anthropicWire, { text: ['one'] }),
    ])
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('one')
    expect(server.requests).to.have.lengthOf(2)
  })

  it('leaves out new kinds of blocks and events, and says so once', async () => {
    const block = (content_block: object, delta: object) => [
      { type: 'content_block_start', index: 0, content_block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
    ]
    const news = [{ type: 'brand_new_event' }, ...block({ type: 'brand_new', x: 1 }, { type: 'brand_new_delta' })]
    const { llm, context } = await connect([
      (response) => {
        const [start = '', ...rest] = anthropicWire.answer({ text: ['fine'] })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end([start, ...news.map((body) => `event: ${body.type}\n${event(body)}`), ...rest].join(''))
      },
    ])
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('fine')
    const { lines } = context as ReturnType<typeof makeContext>
    expect(lines.flatMap((line) => /'(\w+)', which/.exec(line)?.[1] ?? [])).to.deep.equal([
      'brand_new_event',
      'brand_new',
      'brand_new_delta',
    ])
  })

  it('accepts an address without the version, as other Anthropic tools do', async () => {
    const { server } = await connect([plays(anthropicWire, { text: ['one'] })])
    const base = server.url.replace(/\/v1$/, '')
    for (const address of [base, `${base}/`, `${base}/v1`]) {
      const environment = { ...vendor.environment, ANTHROPIC_BASE_URL: address }
      const { llm } = await connect([], { base_url: '' }, { environment })
      await collect(llm, { messages: [says('hi')] })
    }
    expect(server.requests.map(({ url }) => url)).to.deep.equal(Array(3).fill('/v1/messages'))
  })
})
