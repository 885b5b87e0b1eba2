import { expect } from 'chai'
import ollama from '../../../modules/llm/ollama.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import {
  afterTwoCalls,
  connectsVendor,
  describeVendor,
  plays,
  twoCalls,
  type VendorCase,
  weather,
} from '../../suites/vendor-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { says } from '../../support/fake-run.ts'
import { chatWire } from '../../support/model-wires.ts'

const vendor: VendorCase = {
  reference: 'llm/ollama',
  module: ollama,
  wire: chatWire({ reasoningField: 'reasoning', details: false }),
  config: (url) => ({ base_url: url }),
  environment: { OLLAMA_API_KEY: 'ollama-secret' },
  // Ollama counts the tokens, and tells no more of them.
  usage: { cachedInputTokens: 0, reasoningTokens: 0 },
}

describe('llm/ollama', () => {
  describeVendor(vendor)
  const connect = connectsVendor(vendor)

  it('sends no key, to the OpenAI-style endpoint', async () => {
    const { server, llm } = await connect(
      [plays(vendor.wire, twoCalls)],
      { temperature: 0.5, max_output_tokens: 99, reasoning_effort: 'low', options: { keep_alive: '10m' } },
      { environment: {} },
    )
    const picture = { mediaType: 'image/png', data: Uint8Array.from([1, 2, 3]) }
    await collect(llm, {
      messages: [...afterTwoCalls, { role: 'user', content: 'This?', attachments: [picture] }],
      tools: [weather],
      toolChoice: 'required',
      responseSchema: { type: 'object' },
    })
    const [request] = server.requests
    expect(request?.url).to.equal('/v1/chat/completions')
    expect(request?.headers).not.to.have.property('authorization')
    expect(request?.body).to.deep.include({
      model: 'm',
      temperature: 0.5,
      max_tokens: 99,
      reasoning_effort: 'low',
      keep_alive: '10m',
      stream_options: { include_usage: true },
      tool_choice: 'required',
      tools: [{ type: 'function', function: weather }],
    })
    expect(request?.body.messages.at(-1)).to.deep.equal({
      role: 'user',
      content: [
        { type: 'text', text: 'This?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
      ],
    })
    expect(request?.body.response_format).to.deep.include({ type: 'json_schema' })
  })

  it('says how to pull a missing model', async () => {
    const { llm } = await connect([
      (response) => {
        response.writeHead(404, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: "model 'm' not found", type: 'not_found_error' } }))
      },
    ])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(
      /^model 'm' not found \(status 404 from the model 'm' of llm\/ollama at \S+\)\. Fetch it: ollama pull m$/,
    )
  })

  it('uses the address from the environment', async () => {
    const { server } = await connect([plays(vendor.wire, { text: ['one'] })])
    const { host, origin } = new URL(server.url)
    for (const environment of [{ OLLAMA_HOST: host }, { OLLAMA_BASE_URL: `${origin}/`, OLLAMA_HOST: '127.0.0.1:1' }]) {
      const { llm } = await connect([], { base_url: '' }, { environment })
      expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('one')
    }
  })
})
