import { Type } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import openaiCompatible from '../../../modules/llm/openai-compatible.ts'
import { collect, describeLLM, textOf } from '../../suites/llm-suite.ts'
import { fails, startModelServer, streams } from '../../support/fake-model-server.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'

type ModelServer = Awaited<ReturnType<typeof startModelServer>>

describe('llm/openai-compatible', () => {
  const open: ModelServer[] = []
  afterEach(() => Promise.all(open.splice(0).map((server) => server.stop())))

  async function connect(answers: Parameters<typeof startModelServer>, config: object = {}) {
    const server = await startModelServer(...answers)
    open.push(server)
    const given = { base_url: server.url, model: 'm', api_key: 'sk-secret', ...config }
    const llm = await openaiCompatible.create(
      {},
      Value.Parse(openaiCompatible.config, Value.Default(openaiCompatible.config, given)),
      makeContext(),
    )
    return { server, llm }
  }
  const failure = (promise: Promise<unknown>) =>
    promise.then(
      () => 'It did not fail.',
      (error: Error) => error.message,
    )
  const words = [{ role: 'assistant', content: 'one' }, { content: ' two' }]

  describeLLM(async () => (await connect([streams(words)])).llm)

  it('asks with the key, the whole conversation, the tools, and for usage', async () => {
    const { server, llm } = await connect([streams(words)], {
      temperature: 0.5,
      max_tokens: 9,
      headers: { 'x-team': 'a' },
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

  it('gives reasoning apart from text, tool calls whole though they come in pieces, and usage', async () => {
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
      { type: 'reasoning', text: 'let me see' },
      { type: 'text', text: 'ok' },
      { type: 'tool_call', call: { id: 'a', name: 'first', arguments: { x: 1 } } },
      { type: 'tool_call', call: { id: 'b', name: 'second', arguments: {} } },
      { type: 'usage', usage: { inputTokens: 11, outputTokens: 7, cachedInputTokens: 5, reasoningTokens: 2 } },
      { type: 'finish', reason: 'tool_calls' },
    ])
  })

  it('repeats what failed for a passing reason, as often as it may and as late as it is asked to', async () => {
    const { server, llm } = await connect([
      fails(429, { 'retry-after-ms': '30' }),
      fails(503, { 'retry-after-ms': '1' }),
      streams(words),
    ])
    const startedMs = Date.now()
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('one two')
    expect(server.requests).to.have.lengthOf(3)
    expect(Date.now() - startedMs).to.be.within(25, 2000)
    const impatient = await connect([fails(500, { 'retry-after-ms': '1' })], { max_retries: 1 })
    expect(await failure(collect(impatient.llm, { messages: [says('hi')] }))).to.equal(
      `The model 'm' at ${impatient.server.url} did not answer (status 500): refused with 500`,
    )
    expect(impatient.server.requests).to.have.lengthOf(2)
  })

  it('does not repeat what is refused for good, and never tells the key', async () => {
    const { server, llm } = await connect([fails(401)])
    const message = await failure(collect(llm, { messages: [says('hi')] }))
    expect(message).to.equal(`The model 'm' at ${server.url} did not answer (status 401): refused with 401`)
    expect(server.requests).to.have.lengthOf(1)
  })

  it('tells of a server that is not there, and of a stream that breaks off', async () => {
    const config = { base_url: 'http://127.0.0.1:9/v1', max_retries: 0 }
    const { llm } = await connect([streams(words)], config)
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(
      /^The model 'm' at http:\/\/127\.0\.0\.1:9\/v1 did not answer/,
    )
    const cut = await connect([streams(words, 'stop', { cut: true })])
    expect(await failure(collect(cut.llm, { messages: [says('hi')] }))).to.match(/^The model 'm' at .* broke off/)
  })

  it('gives up a model that says nothing, and stops at once when the run ends', async () => {
    const silent = () => {}
    const { llm } = await connect([silent], { timeout: 1 })
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(/said nothing for 1 seconds\.$/)
    const patient = await connect([silent])
    const run = makeRun()
    const asked = failure(collect(patient.llm, { messages: [says('hi')] }, run))
    setTimeout(() => run.abort(new Error('enough')), 30)
    expect(await asked).to.equal('enough')
  })
})
