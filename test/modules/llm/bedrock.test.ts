import { expect } from 'chai'
import bedrock from '../../../modules/llm/bedrock.ts'
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
import { says } from '../../support/fake-run.ts'
import { bedrockWire } from '../../support/model-wires.ts'

const vendor: VendorCase = {
  reference: 'llm/bedrock',
  module: bedrock,
  wire: bedrockWire,
  refusesBlank: true,
  saysStopSequence: true,
  config: (url) => ({ base_url: url }),
  environment: { AWS_BEARER_TOKEN_BEDROCK: 'bedrock-secret' },
  keyNames: 'AWS_BEARER_TOKEN_BEDROCK (or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)',
  // Bedrock counts what was thought among the output.
  usage: { reasoningTokens: 0 },
}
const picture = { mediaType: 'image/png', data: Uint8Array.from([1, 2, 3]) }

describe('llm/bedrock', () => {
  describeVendor(vendor)
  describeKey(vendor)
  const connect = connectsVendor(vendor)

  it('sends the key, the whole conversation, tools and images, and the results of one step together', async () => {
    const { server, llm } = await connect([plays(bedrockWire, twoCalls)], {
      model: 'us.anthropic.claude-3-haiku:0',
      temperature: 0.5,
      max_output_tokens: 99,
    })
    await collect(llm, {
      messages: [
        ...afterTwoCalls,
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'This?', attachments: [picture] },
      ],
      tools: [weather],
      toolChoice: { tool: 'weather' },
      stop: ['END'],
    })
    const [request] = server.requests
    expect(request?.url).to.equal('/model/us.anthropic.claude-3-haiku%3A0/converse-stream')
    expect(request?.headers.authorization).to.equal('Bearer bedrock-secret')
    expect(request?.body).to.deep.equal({
      additionalModelResponseFieldPaths: ['/delta/stop_sequence'],
      inferenceConfig: { temperature: 0.5, maxTokens: 99, stopSequences: ['END'] },
      system: [{ text: 'Be kind.' }, { text: 'Be brief.' }],
      toolConfig: {
        tools: [
          {
            toolSpec: {
              name: 'weather',
              description: 'Tells the weather.',
              inputSchema: { json: weather.parameters },
            },
          },
        ],
        toolChoice: { tool: { name: 'weather' } },
      },
      messages: [
        { role: 'user', content: [{ text: 'Weather?' }] },
        {
          role: 'assistant',
          content: [
            { text: 'I look.' },
            { toolUse: { toolUseId: 'call_a', name: 'weather', input: { city: 'Oslo' } } },
            { toolUse: { toolUseId: 'call_b', name: 'weather', input: { city: 'Lima' } } },
          ],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 'call_a', content: [{ text: 'snow' }] } },
            { toolResult: { toolUseId: 'call_b', content: [{ text: 'sun' }] } },
            { text: 'This?' },
            { image: { format: 'png', source: { bytes: 'AQID' } } },
          ],
        },
      ],
    })
  })

  it('signs requests without an API key, with credentials from the config or the environment', async () => {
    const environment = { AWS_ACCESS_KEY_ID: 'AKIAENV', AWS_SECRET_ACCESS_KEY: 'env-secret-1', AWS_REGION: 'eu-west-1' }
    const { server, llm } = await connect([plays(bedrockWire, { text: ['one'] })], {}, { environment })
    await collect(llm, { messages: [says('hi')] })
    const config = {
      base_url: server.url.replace(/\/v1$/, ''),
      region: 'eu-north-1',
      access_key_id: 'AKIAOWN',
      secret_access_key: 'own-secret-1',
      session_token: 'session-1',
    }
    const own = await connect([], config, { environment: { ...environment, ...vendor.environment } })
    await collect(own.llm, { messages: [says('hi')] })
    const [first, second] = server.requests.map(({ headers }) => headers)
    expect(first?.authorization).to.match(
      /^AWS4-HMAC-SHA256 Credential=AKIAENV\/\d{8}\/eu-west-1\/bedrock\/aws4_request, /,
    )
    expect(second?.authorization).to.match(/Credential=AKIAOWN\/\d{8}\/eu-north-1\/bedrock\//)
    expect(second?.['x-amz-security-token']).to.equal('session-1')
  })

  it('returns signed reasoning before the calls', async () => {
    const { server, llm } = await connect([plays(bedrockWire, twoCalls)], {
      model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
      thinking_budget: 2000,
    })
    await collect(llm, { messages: await afterAsking(llm), tools: [weather] })
    const [first = {}, second = {}]: Record<string, unknown>[] = server.requests.map(({ body }) => body)
    expect(first.additionalModelRequestFields).to.deep.equal({ thinking: { type: 'enabled', budget_tokens: 2000 } })
    const [, answer] = second.messages as { content: object[] }[]
    expect(answer?.content[0]).to.deep.equal({
      reasoningContent: { reasoningText: { text: 'let me see', signature: 'signed' } },
    })
  })

  it('requests an answer that matches a schema', async () => {
    const call = { id: 'call_j', name: 'json', json: ['{"n":', '1}'] }
    const { server, llm } = await connect([plays(bedrockWire, { calls: [call] })])
    const responseSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const parts = await collect(llm, { messages: [says('hi')], responseSchema })
    expect(textOf(parts)).to.equal('{"n":1}')
    expect(parts.at(-1)).to.deep.equal({ type: 'finish', reason: 'stop' })
    expect(JSON.stringify(server.requests[0]?.body)).to.contain('"n":{"type":"number"}')
  })

  it('rejects an image URL, which Bedrock does not fetch', async () => {
    const { llm } = await connect([])
    const attachments = [{ mediaType: 'image/png', data: new URL('https://x.y/z.png') }]
    expect(await failure(collect(llm, { messages: [{ role: 'user', content: 'This?', attachments }] }))).to.match(
      /^The model does not accept image\/png from https:\/\/x\.y\. Send the file itself \(/,
    )
  })
})
