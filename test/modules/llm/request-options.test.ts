import type { ModelOptions } from 'agent-host'
import { expect } from 'chai'
import anthropic from '../../../modules/llm/anthropic.ts'
import openai from '../../../modules/llm/openai.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import { connectsVendor, plays, type VendorCase, weather } from '../../suites/vendor-suite.ts'
import { failure } from '../../support/connect-model.ts'
import { makeRun, says } from '../../support/fake-run.ts'
import { anthropicWire, chatWire } from '../../support/model-wires.ts'

const chat: VendorCase = {
  reference: 'llm/openai',
  module: openai,
  wire: chatWire(),
  config: (url) => ({ base_url: `${url}/v1`, api: 'chat' }),
  environment: { OPENAI_API_KEY: 'sk-proj-secret' },
}
const claude: VendorCase = {
  reference: 'llm/anthropic',
  module: anthropic,
  wire: anthropicWire,
  config: (url) => ({ base_url: url }),
  environment: { ANTHROPIC_API_KEY: 'sk-ant-secret' },
}
const asks = { messages: [says('hi')], tools: [weather] }
const refuses = (message: string) => (response: import('node:http').ServerResponse) => {
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }))
}
/** Arguments of a call as the host makes it: it fills the options of the client into the request. */
const asking = (options: ModelOptions, own: ModelOptions = {}) =>
  [{ ...asks, ...options, ...own }, makeRun({ requestOptions: options })] as const

describe('request options', () => {
  const connect = connectsVendor(chat)
  const connectClaude = connectsVendor(claude)
  const ok = plays(chatWire(), { text: ['ok'] })

  it('reach the model; unset ones are not sent', async () => {
    const { server, llm } = await connect([ok])
    const requestOptions = {
      temperature: 0.1,
      topP: 0.2,
      maxOutputTokens: 30,
      stop: ['END'],
      seed: 7,
      presencePenalty: 0.3,
      frequencyPenalty: 0.4,
      parallelToolCalls: false,
    }
    await collect(llm, ...asking(requestOptions))
    await collect(llm, asks)
    const [first, second] = server.requests.map(({ body }) => body)
    expect(first).to.deep.include({
      temperature: 0.1,
      top_p: 0.2,
      max_tokens: 30,
      stop: ['END'],
      seed: 7,
      presence_penalty: 0.3,
      frequency_penalty: 0.4,
      parallel_tool_calls: false,
    })
    expect(second).to.not.have.any.keys('temperature', 'top_p', 'max_tokens', 'stop', 'seed', 'parallel_tool_calls')
  })

  it('yield to the config, which yields to the orchestrator', async () => {
    const { server, llm } = await connect([ok], { temperature: 0.5, max_output_tokens: 99 })
    await collect(llm, ...asking({ temperature: 0.1, maxOutputTokens: 30, seed: 7 }, { maxOutputTokens: 50 }))
    expect(server.requests[0]?.body).to.deep.include({ temperature: 0.5, max_tokens: 50, seed: 7 })
  })

  it('are dropped with a warning if the vendor refuses them, and the request is retried', async () => {
    const refusal = refuses("Unsupported value: 'temperature' does not support 0.1 with this model.")
    const { server, llm, context } = await connect([refusal, ok])
    expect(textOf(await collect(llm, ...asking({ temperature: 0.1, seed: 7 })))).to.equal('ok')
    expect(server.requests[1]?.body).to.deep.include({ seed: 7 })
    expect(server.requests[1]?.body).not.to.have.property('temperature')
    expect(context.lines.join()).to.match(/^warn .*: it refuses temperature, which is left out: /)
  })

  it('fail the request if the vendor refuses a value from the config', async () => {
    const { server, llm } = await connect([refuses("'temperature' is not supported.")], { temperature: 0.5 })
    expect(await failure(collect(llm, ...asking({ seed: 7 })))).to.contain('status 400')
    expect(server.requests).to.have.lengthOf(1)
  })

  it('drop a schema that the server does not support: the orchestrator checks the answer anyway', async () => {
    const { server, llm } = await connect([refuses('response_format is not available here'), ok])
    await collect(llm, { ...asks, responseSchema: { type: 'object' } })
    expect(server.requests.map(({ body }) => 'response_format' in body)).to.deep.equal([true, false])
  })

  it('of one vendor alone are sent to it, with words that it knows, and left out for others with a line in the log', async () => {
    const { server, llm, context } = await connect([ok, ok])
    const given = { verbosity: 'low', serviceTier: 'default', promptCacheKey: 'k', safetyIdentifier: 's' }
    await collect(llm, ...asking(given))
    await collect(llm, ...asking({ serviceTier: 'golden' }))
    const [first, second] = server.requests.map(({ body }) => body)
    expect(first).to.deep.include({
      verbosity: 'low',
      service_tier: 'default',
      prompt_cache_key: 'k',
      safety_identifier: 's',
    })
    expect(second).to.not.have.property('service_tier')
    expect(context.lines.join()).to.contain("it knows no service tier 'golden', which is left out")
    const claude = await connectClaude([plays(anthropicWire, { text: ['ok'] })])
    await collect(claude.llm, ...asking(given))
    expect(JSON.stringify(claude.server.requests[0]?.body)).to.not.match(/service|verbosity|cache_key|safety/)
    const lines = claude.context.lines.join()
    for (const word of ['verbosity', 'service tier', 'key for its cache', 'safety identifier']) {
      expect(lines).to.contain(`it takes no ${word}, which is left out`)
    }
  })

  it("use each vendor's names, without unknown efforts", async () => {
    const { server, llm, context } = await connectClaude([plays(anthropicWire, { text: ['ok'] })])
    await collect(llm, ...asking({ reasoningEffort: 'minimal', parallelToolCalls: false }))
    await collect(llm, ...asking({ reasoningEffort: 'low' }))
    const [first, second] = server.requests.map(({ body }) => body)
    expect(first?.tool_choice).to.deep.equal({ type: 'auto', disable_parallel_tool_use: true })
    expect([first, second].map((body) => JSON.stringify(body).includes('"effort":"low"'))).to.deep.equal([false, true])
    expect(context.lines.join()).to.contain("it knows no reasoning effort 'minimal', which is left out")
  })

  it('that are unknown leave a short line in the log, and a bounded number in memory', async () => {
    const { llm, context } = await connectClaude([plays(anthropicWire, { text: ['ok'] })])
    const ask = (effort: string) => collect(llm, ...asking({ reasoningEffort: effort }))
    await ask('x'.repeat(100_000))
    for (let count = 0; count < 100; count++) await ask(`effort ${count}`)
    await ask('effort 99')
    const told = () => context.lines.filter((line) => line.includes('effort'))
    expect(told()[0]).to.have.lengthOf.below(300)
    expect(told()).to.have.lengthOf(101)
    await ask('x'.repeat(100_000))
    expect(told()).to.have.lengthOf(102)
  })
})
