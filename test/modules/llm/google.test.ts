import { expect } from 'chai'
import google from '../../../modules/llm/google.ts'
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
import { sends } from '../../support/fake-model-server.ts'
import { says } from '../../support/fake-run.ts'
import { geminiWire } from '../../support/model-wires.ts'

const vendor: VendorCase = {
  reference: 'llm/google',
  module: google,
  wire: geminiWire,
  refusesBlank: true,
  writesJson: false,
  config: (url) => ({ base_url: `${url}/v1beta` }),
  environment: { GEMINI_API_KEY: 'AIza-secret' },
}
const picture = { mediaType: 'image/png', data: Uint8Array.from([1, 2, 3]) }

describe('llm/google', () => {
  describeVendor(vendor)
  describeKey(vendor)
  const connect = connectsVendor(vendor)

  it('sends the key, the whole conversation, tools and images, and the results of one step together', async () => {
    const { server, llm } = await connect([plays(geminiWire, twoCalls)], { temperature: 0.5, max_output_tokens: 99 })
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
    expect(request?.url).to.equal('/v1beta/models/m:streamGenerateContent?alt=sse')
    expect(request?.headers).to.include({ 'x-goog-api-key': 'AIza-secret' })
    const { contents, systemInstruction, generationConfig, toolConfig, tools }: Record<string, unknown> =
      request?.body ?? {}
    expect(systemInstruction).to.deep.equal({ parts: [{ text: 'Be kind.' }, { text: 'Be brief.' }] })
    expect(generationConfig).to.deep.equal({ temperature: 0.5, maxOutputTokens: 99, stopSequences: ['END'] })
    expect(toolConfig).to.deep.equal({
      functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] },
    })
    expect(tools).to.deep.equal([
      {
        functionDeclarations: [{ name: 'weather', description: 'Tells the weather.', parameters: weather.parameters }],
      },
    ])
    expect(contents).to.deep.equal([
      { role: 'user', parts: [{ text: 'Weather?' }] },
      {
        role: 'model',
        parts: [
          { text: 'I look.' },
          { functionCall: { id: 'call_a', name: 'weather', args: { city: 'Oslo' } } },
          { functionCall: { id: 'call_b', name: 'weather', args: { city: 'Lima' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'call_a', name: 'weather', response: { name: 'weather', content: 'snow' } } },
          { functionResponse: { id: 'call_b', name: 'weather', response: { name: 'weather', content: 'sun' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'This?' }, { inlineData: { mimeType: 'image/png', data: 'AQID' } }] },
    ])
  })

  it('returns the signatures of calls, as Gemini 3 requires', async () => {
    const { server, llm } = await connect([plays(geminiWire, twoCalls)], {
      model: 'gemini-3-flash-preview',
      reasoning_effort: 'low',
    })
    await collect(llm, { messages: await afterAsking(llm), tools: [weather] })
    const [first = {}, second = {}]: Record<string, unknown>[] = server.requests.map(({ body }) => body)
    expect(first.generationConfig).to.deep.equal({
      thinkingConfig: { thinkingLevel: 'low', includeThoughts: true },
    })
    const [, answer] = second.contents as { parts: object[] }[]
    expect(answer?.parts).to.deep.equal([
      { text: 'let me see', thought: true },
      { text: 'I look.' },
      { functionCall: { id: 'call_a', name: 'weather', args: { city: 'Oslo' } }, thoughtSignature: 'signed' },
      { functionCall: { id: 'call_b', name: 'weather', args: { city: 'Lima' } } },
    ])
  })

  it('fails on a malformed call with the words of Gemini', async () => {
    const finishMessage = 'Malformed function call: print(x)'
    const { llm } = await connect([
      sends({ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage, index: 0 }] }),
    ])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(
      /^Malformed function call: print\(x\): an empty answer ended with 'MALFORMED_FUNCTION_CALL' \(/,
    )
  })

  it('requests an answer that matches a schema', async () => {
    const { server, llm } = await connect([plays(geminiWire, { text: ['{"n":', '1}'] })])
    const responseSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    expect(textOf(await collect(llm, { messages: [says('hi')], responseSchema }))).to.equal('{"n":1}')
    expect(server.requests[0]?.body.generationConfig).to.deep.equal({
      responseMimeType: 'application/json',
      responseSchema,
    })
  })

  it('sends the bytes of a data URL, and rejects a URL that Gemini does not fetch', async () => {
    const { server, llm } = await connect([plays(geminiWire, { text: ['ok'] })])
    const asks = (address: string) => {
      const attachments = [{ mediaType: 'image/png', data: new URL(address) }]
      return collect(llm, { messages: [{ role: 'user', content: 'This?', attachments }] })
    }
    await asks('data:image/png;base64,AQID')
    expect(JSON.stringify(server.requests[0]?.body)).to.contain('{"mimeType":"image/png","data":"AQID"}')
    expect(await failure(asks('http://169.254.169.254/latest'))).to.match(
      /^The model does not accept image\/png from http:\/\/169\.254\.169\.254\. Send the file itself \(the model 'm' of llm\/google at \S+\)$/,
    )
    expect(server.requests).to.have.lengthOf(1)
  })
})
