import { Type } from 'agent-host'
import { expect } from 'chai'
import { providerAt } from '../../../modules/llm/lib/provider-name.ts'
import { collect, describeLLM } from '../../suites/llm-suite.ts'
import { connectsModels, words } from '../../support/connect-model.ts'
import { sends, streams } from '../../support/fake-model-server.ts'
import { says } from '../../support/fake-run.ts'

describe('llm/openai-compatible', () => {
  const connect = connectsModels()

  describeLLM(async () => (await connect([streams(words)])).llm)

  it('names its model, and the one that answered if it is another', async () => {
    const { llm } = await connect([streams(words)], { model: 'm-latest' })
    expect(llm.modelInfo).to.deep.equal({ name: 'm-latest', provider: 'openai-compatible' })
    const parts = await collect(llm, { messages: [says('hi')] })
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop', model: 'm' })
    const addresses = ['https://api.groq.com/openai/v1', 'https://api.x.ai/v1', 'http://10.0.0.7/v1', 'nowhere']
    expect(addresses.map(providerAt)).to.deep.equal(['groq', 'x_ai', 'openai-compatible', 'openai-compatible'])
  })

  it('sends blank text as it is, and pictures in the detail that the client wants', async () => {
    const { server, llm } = await connect([streams(words)])
    const picture = { mediaType: 'image/png', data: Uint8Array.of(1, 2, 3), detail: 'low' }
    const elsewhere = { mediaType: 'image/*', data: new URL('https://x.y/z.png'), detail: 'high' }
    await collect(llm, { messages: [says(''), { role: 'user', content: 'see', attachments: [picture, elsewhere] }] })
    expect(server.requests[0]?.body.messages).to.deep.equal([
      { role: 'user', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://x.y/z.png', detail: 'high' } },
        ],
      },
    ])
  })

  it('logs nothing about a request that the server takes', async () => {
    const { llm, log } = await connect([streams(words)])
    await collect(llm, { messages: [says('hi')], reasoningEffort: 'low', parallelToolCalls: false })
    expect(log).to.deep.equal([])
  })

  it('sends the key, the whole conversation and the tools, and requests usage', async () => {
    const { server, llm } = await connect([streams(words)], {
      temperature: 0.5,
      max_tokens: 9,
      headers: { 'x-team': 'a' },
      query: { version: '2' },
    })
    const parameters = Type.Object({ n: Type.Number() })
    await collect(llm, {
      messages: [
        { role: 'system', content: 'be kind' },
        says('hi'),
        { role: 'assistant', content: 'ok', toolCalls: [{ id: 'c1', name: 't', arguments: { n: 1 } }] },
        { role: 'tool', content: 'done', toolCallId: 'c1' },
      ],
      tools: [{ name: 't', description: 'does', parameters: { ...parameters } }],
      stop: ['END'],
    })
    const [request] = server.requests
    expect(request?.url).to.equal('/v1/chat/completions?version=2')
    expect(request?.headers).to.include({ authorization: 'Bearer sk-secret', 'x-team': 'a' })
    expect(request?.body).to.deep.include({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      max_tokens: 9,
      stop: ['END'],
      tool_choice: 'auto',
      tools: [
        {
          type: 'function',
          function: {
            name: 't',
            description: 'does',
            parameters: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
          },
        },
      ],
      messages: [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: 'ok',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 't', arguments: '{"n":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'done' },
      ],
    })
  })

  it('sends no credentials when the key is empty', async () => {
    const { server, llm } = await connect([streams(words)], { api_key: '' })
    await collect(llm, { messages: [says('hi')] })
    expect(server.requests[0]?.headers).not.to.have.property('authorization')
  })

  it('returns reasoning apart from text, whole tool calls, and usage', async () => {
    const deltas = [
      { role: 'assistant', reasoning_content: 'let me see' },
      { content: 'ok' },
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'first', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '1}' } }] },
      { tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'second', arguments: '{}' } }] },
    ]
    const { llm } = await connect([streams(deltas, 'tool_calls')])
    expect(await collect(llm, { messages: [says('hi')] })).to.deep.equal([
      { type: 'reasoning', text: 'let me see', blockId: 'reasoning-0' },
      { type: 'text', text: 'ok' },
      { type: 'tool_call', call: { id: 'a', name: 'first', arguments: { x: 1 } } },
      { type: 'tool_call', call: { id: 'b', name: 'second', arguments: {} } },
      {
        type: 'usage',
        usage: { inputTokens: 11, outputTokens: 7, cachedInputTokens: 5, reasoningTokens: 2 },
        model: 'm',
      },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('reports no usage if the server sends none', async () => {
    const { llm } = await connect([
      sends({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'length' }] }),
    ])
    expect(await collect(llm, { messages: [says('hi')] })).to.deep.equal([
      { type: 'text', text: 'a' },
      { type: 'finish', reason: 'length' },
    ])
  })
})
