import type { ServerResponse } from 'node:http'
import { Type } from 'agent-host'
import { expect } from 'chai'
import { Value } from 'typebox/value'
import openaiCompatible from '../../../modules/llm/openai-compatible.ts'
import { collect, describeLLM, textOf } from '../../suites/llm-suite.ts'
import { event, fails, sends, startModelServer, streams } from '../../support/fake-model-server.ts'
import { makeContext, makeRun, says } from '../../support/fake-run.ts'

const sendsAndWaits = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event({ choices: [{ index: 0, delta: { content: 'a' } }] }))
}
const says4xx = (message: string) => (response: ServerResponse) => {
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message } }))
}

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

  it('waits until the date that it is asked to wait for', async () => {
    const until = Math.ceil(Date.now() / 1000) * 1000 + 1000
    const { llm } = await connect([fails(429, { 'retry-after': new Date(until).toUTCString() }), streams(words)])
    await collect(llm, { messages: [says('hi')] })
    expect(Date.now()).to.be.least(until - 5)
  })

  it('repeats a request whose connection broke before there was an answer', async () => {
    const { server, llm } = await connect([(response) => void response.destroy(), streams(words)])
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('one two')
    expect(server.requests).to.have.lengthOf(2)
  })

  it('does not repeat what is refused for good, nor a stream that has begun', async () => {
    const { server, llm } = await connect([fails(401)])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.equal(
      `The model 'm' at ${server.url} did not answer (status 401): refused with 401`,
    )
    expect(server.requests).to.have.lengthOf(1)
    const cut = await connect([streams(words, 'stop', { cut: true })])
    await failure(collect(cut.llm, { messages: [says('hi')] }))
    expect(cut.server.requests).to.have.lengthOf(1)
  })

  it('never tells a key, though the server repeats it or it is part of the address', async () => {
    const config = { headers: { 'x-api-key': 'header-secret' }, query: { key: 'query-secret' } }
    const { server, llm } = await connect([says4xx('bad keys: sk-secret, header-secret, query-secret')], config)
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.equal(
      `The model 'm' at ${server.url} did not answer (status 400): bad keys: [redacted], [redacted], [redacted]`,
    )
    const inside = await connect([fails(401)], { base_url: server.url.replace('//', '//me:sk-other-secret@') })
    expect(await failure(collect(inside.llm, { messages: [says('hi')] }))).not.to.contain('sk-other-secret')
  })

  it('tells what a server said that does not speak as OpenAI does, and an error in mid stream', async () => {
    const { server, llm } = await connect([
      (response) => {
        response.writeHead(422, { 'content-type': 'application/json' })
        response.end('{"detail":"no such model"}')
      },
    ])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.equal(
      `The model 'm' at ${server.url} did not answer (status 422): Unprocessable Entity: {"detail":"no such model"}`,
    )
    const broken = await connect([
      sends({ choices: [{ index: 0, delta: { content: 'a' } }] }, { error: { message: 'overloaded' } }),
    ])
    expect(await failure(collect(broken.llm, { messages: [says('hi')] }))).to.equal(
      `The model 'm' at ${broken.server.url} broke off: overloaded`,
    )
  })

  it('reports no usage where the server counts none', async () => {
    const { llm } = await connect([
      sends({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'length' }] }),
    ])
    expect(await collect(llm, { messages: [says('hi')] })).to.deep.equal([
      { type: 'text', text: 'a' },
      { type: 'finish', reason: 'length' },
    ])
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

  it('stops a stream at once when the run ends, and the wait before a repetition', async () => {
    const begun = await connect([sendsAndWaits])
    const run = makeRun()
    const reading = async () => {
      for await (const _ of begun.llm.generate({ messages: [says('hi')] }, run)) {
        setTimeout(() => run.abort(new Error('enough')), 30)
      }
    }
    expect(await failure(reading())).to.equal('enough')
    const busy = await connect([fails(503, { 'retry-after': '20' })])
    const other = makeRun()
    setTimeout(() => other.abort(new Error('enough')), 30)
    expect(await failure(collect(busy.llm, { messages: [says('hi')] }, other))).to.equal('enough')
  })

  it('closes the connection when its reader leaves', async () => {
    let closed = () => {}
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    const { llm } = await connect([
      (response) => {
        response.on('close', closed)
        return sendsAndWaits(response)
      },
    ])
    for await (const _ of llm.generate({ messages: [says('hi')] }, makeRun())) break
    await isClosed
  })

  it('does not take a wait that the server asked for, nor a slow reader, for silence', async () => {
    const busy = await connect([fails(429, { 'retry-after': '1.3' }), streams(words)], { timeout: 1 })
    expect(textOf(await collect(busy.llm, { messages: [says('hi')] }))).to.equal('one two')
    let release = () => {}
    const { llm } = await connect(
      [
        async (response) => {
          sendsAndWaits(response)
          await new Promise<void>((resolve) => {
            release = resolve
          })
          response.end(event({ choices: [{ index: 0, delta: { content: 'b' }, finish_reason: 'stop' }] }))
        },
      ],
      { timeout: 1 },
    )
    let text = ''
    for await (const part of llm.generate({ messages: [says('hi')] }, makeRun())) {
      if (part.type === 'text') text += part.text
      if (text !== 'a') continue
      await new Promise((resolve) => setTimeout(resolve, 1200))
      release()
    }
    expect(text).to.equal('ab')
  })

  it('gives up a model that falls silent in the middle', async () => {
    const { llm } = await connect([sendsAndWaits], { timeout: 1 })
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(/said nothing for 1 seconds\.$/)
  })

  it('fails on arguments that are no JSON object, and names the tool', async () => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'weather', arguments: '[1]' } }
    const { llm } = await connect([streams([{ tool_calls: [call] }], 'tool_calls')])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(
      /'weather' with arguments that are no JSON object: \[1\]$/,
    )
  })
})
