import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { describeException } from '../../../src/run/calls/agent-events.ts'
import { collect, textOf } from '../../suites/llm-suite.ts'
import { connectsModels, failure, words } from '../../support/connect-model.ts'
import { event, fails, sends, streams } from '../../support/fake-model-server.ts'
import { makeRun, says } from '../../support/fake-run.ts'

const sendsAndWaits = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event({ choices: [{ index: 0, delta: { content: 'a' } }] }))
}
const says4xx = (message: string) => (response: ServerResponse) => {
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message } }))
}

describe('llm/openai-compatible, when something fails', () => {
  const connect = connectsModels()

  it('retries temporary failures, up to the limit and after the requested delay', async () => {
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
      `refused with 500 (status 500 from the model 'm' at ${impatient.server.url})`,
    )
    expect(impatient.server.requests).to.have.lengthOf(2)
  })

  it('waits until the requested date', async () => {
    const until = Math.ceil(Date.now() / 1000) * 1000 + 1000
    const { llm } = await connect([fails(429, { 'retry-after': new Date(until).toUTCString() }), streams(words)])
    await collect(llm, { messages: [says('hi')] })
    expect(Date.now()).to.be.least(until - 5)
  })

  it('retries a request whose connection broke before the answer', async () => {
    const { server, llm } = await connect([(response) => void response.destroy(), streams(words)])
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('one two')
    expect(server.requests).to.have.lengthOf(2)
  })

  it('does not retry a permanent failure or a stream that has started', async () => {
    const { server, llm } = await connect([fails(401)])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.equal(
      `refused with 401 (status 401 from the model 'm' at ${server.url}). The key is api_key in the config of module 'module'.`,
    )
    expect(server.requests).to.have.lengthOf(1)
    const cut = await connect([streams(words, 'stop', { cut: true })])
    await failure(collect(cut.llm, { messages: [says('hi')] }))
    expect(cut.server.requests).to.have.lengthOf(1)
  })

  it('never shows a key, even if the server echoes it or the URL contains it', async () => {
    const config = { headers: { 'x-api-key': 'header-secret' }, query: { key: 'query-secret' } }
    const { server, llm } = await connect([says4xx('bad keys: sk-secret, header-secret, query-secret')], config)
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.equal(
      `bad keys: [redacted], [redacted], [redacted] (status 400 from the model 'm' at ${server.url})`,
    )
    const inside = await connect([fails(401)], { base_url: server.url.replace('//', '//me:sk-other-secret@') })
    expect(await failure(collect(inside.llm, { messages: [says('hi')] }))).not.to.contain('sk-other-secret')
  })

  it('never shows a key in the causes of a failure, which the log and traces tell', async () => {
    const { llm } = await connect([says4xx('bad key: sk-secret')])
    const error: unknown = await collect(llm, { messages: [says('hi')] }).catch((thrown: unknown) => thrown)
    expect(describeException(error)).to.contain('Caused by: ').and.not.to.contain('sk-secret')
  })

  it('reports the message of an unusual server, and an error mid-stream', async () => {
    const { server, llm } = await connect([
      (response) => {
        response.writeHead(422, { 'content-type': 'application/json' })
        response.end('{"detail":"no such model"}')
      },
    ])
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.equal(
      `Unprocessable Entity: {"detail":"no such model"} (status 422 from the model 'm' at ${server.url})`,
    )
    const broken = await connect([
      sends({ choices: [{ index: 0, delta: { content: 'a' } }] }, { error: { message: 'overloaded' } }),
    ])
    expect(await failure(collect(broken.llm, { messages: [says('hi')] }))).to.equal(
      `The stream of the model 'm' at ${broken.server.url} broke off: overloaded`,
    )
  })

  it('reports what a server says instead of a chunk, in whatever shape', async () => {
    const shapes: [object, string][] = [
      [{ error: 'overloaded' }, 'overloaded'],
      [{ error: { code: 502, metadata: {} } }, '{"code":502,"metadata":{}}'],
      [{ object: 'error', message: 'no memory', code: 40_303 }, 'no memory'],
      [{ detail: 'queue is full' }, 'queue is full'],
      [
        { choices: [{ index: 0, delta: {}, error: { message: 'upstream', code: 502 }, finish_reason: 'error' }] },
        'upstream',
      ],
      [
        { choices: [{ index: 0, delta: 7 }] },
        'it sent what its API does not define: {"choices":[{"index":0,"delta":7}]}',
      ],
    ]
    for (const [body, said] of shapes) {
      const { server, llm } = await connect([sends(body)])
      expect(await failure(collect(llm, { messages: [says('hi')] }))).to.equal(
        `The stream of the model 'm' at ${server.url} broke off: ${said}`,
      )
    }
  })

  it('reads past odd chunks in which nothing is lost', async () => {
    const { llm } = await connect([
      sends(
        { choices: [{ index: 0, delta: { role: 'model', content: 'fine' } }], error: null },
        { choices: null, usage: null },
        { usage: { prompt_tokens: 1, completion_tokens: 2 } },
        { choices: [{ index: 0, delta: null, finish_reason: 'stop' }] },
      ),
    ])
    const parts = await collect(llm, { messages: [says('hi')] })
    expect(textOf(parts)).to.equal('fine')
    expect(parts.map(({ type }) => type)).to.deep.equal(['text', 'usage', 'finish'])
  })

  it('reports an unreachable server, and a broken stream', async () => {
    const config = { base_url: 'http://127.0.0.1:9/v1', max_retries: 0 }
    const { llm } = await connect([streams(words)], config)
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(
      /\(the model 'm' at http:\/\/127\.0\.0\.1:9\/v1 did not answer\)$/,
    )
    const cut = await connect([streams(words, 'stop', { cut: true })])
    expect(await failure(collect(cut.llm, { messages: [says('hi')] }))).to.match(
      /^The stream of the model 'm' at .* broke off: other side closed$/,
    )
  })

  it('times out on a silent model, and stops at once when the run ends', async () => {
    const silent = () => {}
    const { llm } = await connect([silent], { timeout: 1 })
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(/said nothing for 1 s \(timeout\)\.$/)
    const patient = await connect([silent])
    const run = makeRun()
    const asked = failure(collect(patient.llm, { messages: [says('hi')] }, run))
    setTimeout(() => run.abort(new Error('enough')), 30)
    expect(await asked).to.equal('enough')
  })

  it('stops a stream, and the wait before a retry, at once when the run ends', async () => {
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

  it('closes the connection when its reader stops', async () => {
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

  it('does not count a requested delay or a slow reader as silence', async () => {
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

  it('takes comments and empty events for signs of life, not for parts of an answer', async () => {
    const signs = [
      ': PROCESSING\n\n',
      'data:\n\n',
      event({ choices: [] }),
      event({ choices: [{ index: 0, delta: { content: '' } }] }),
    ]
    const pings = (rounds: number) => async (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let round = 0; round < rounds && !response.destroyed; round++) {
        response.write(signs[round % signs.length])
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
      response.end(event({ choices: [{ index: 0, delta: { content: 'late' }, finish_reason: 'stop' }] }))
    }
    const { llm } = await connect([pings(8)], { timeout: 1 })
    expect(textOf(await collect(llm, { messages: [says('hi')] }))).to.equal('late')
    const never = await connect([pings(100)], { part_timeout: 1 })
    expect(await failure(collect(never.llm, { messages: [says('hi')] }))).to.match(/for 1 s \(part_timeout\)\.$/)
  })

  it('times out on a model that falls silent mid-answer', async () => {
    const { llm } = await connect([sendsAndWaits], { timeout: 1 })
    expect(await failure(collect(llm, { messages: [says('hi')] }))).to.match(/said nothing for 1 s \(timeout\)\.$/)
  })
})
