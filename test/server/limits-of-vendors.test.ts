import { expect } from 'chai'
import { makeResponses } from '../support/responses.ts'
import { closeServers } from '../support/server.ts'

/** A model that is at its limit: at once, after a text, or once a tool was called; `many` asks two such models. */
const FILES = {
  'agents/busy.yml': `id: busy
modules:
  - { id: llm, module: busy }
  - { id: tools, module: tools/local, config: { files: [tools/add.ts] } }
  - { id: loop, module: orchestrator/tool-loop }`,
  'agents/many.yml': `id: many
modules:
  - { id: one, module: busy }
  - { id: two, module: busy }
  - { id: both, module: llm/fallback }
  - { id: loop, module: orchestrator/tool-loop }
exchange:
  - { module: both, protocol: LLM, provider: [one, two] }
  - { module: loop, protocol: LLM, provider: both }`,
  'agents/once.yml': `id: once
modules:
  - { id: llm, module: once }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/once.ts': `import { defineModule, LLM, ModelLimited } from 'agent-host'
let calls = 0
export default defineModule({ name: 'Once', provides: [LLM], create: () => ({
  async *generate() {
    if (calls++ === 0) throw new ModelLimited('vendor secret', { status: 429, retryAfterSeconds: 1 })
    yield { type: 'text', text: 'hello' }
    yield { type: 'finish', reason: 'stop' }
  } }) })`,
  'modules/busy.ts': `import { defineModule, LLM, ModelLimited } from 'agent-host'
export default defineModule({ name: 'Busy', provides: [LLM], create: () => ({
  async *generate({ messages }) {
    const { role, content } = messages.at(-1)
    if (content === 'text') yield { type: 'text', text: 'So far' }
    if (content === 'tool') {
      yield { type: 'tool_call', call: { id: 'c', name: 'add', arguments: { a: 1, b: 2 } } }
      return yield { type: 'finish', reason: 'tool_calls' }
    }
    const status = content === 'full' ? 529 : 429
    throw new ModelLimited('vendor secret', { status, retryAfterSeconds: content === 'plain' ? undefined : 1.2 })
  } }) })`,
}

describe('the limit of a vendor', () => {
  afterEach(closeServers)

  const makeAsk = async () => {
    const { app } = await makeResponses({ adapters: ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter'] }, FILES)
    return async (input: string, prefix = '/v1', more: object = {}) => {
      const payload = { model: 'busy', input, ...more }
      const { statusCode, headers, body } = await app.inject({ method: 'POST', url: `${prefix}/responses`, payload })
      const { 'retry-after': after, 'x-should-retry': retry } = headers
      return { statusCode, after, retry, body }
    }
  }

  it('reaches clients of /v1 with the time to wait, where the run had no effect yet', async () => {
    const ask = await makeAsk()
    const limited = await ask('limit')
    expect(limited).to.deep.include({ statusCode: 429, after: '2', retry: undefined })
    expect(JSON.parse(limited.body).error).to.deep.equal({
      message: 'The vendor of the model is at its limit. Please try again in 2s.',
      type: 'rate_limit_error',
      param: null,
      code: 'rate_limit_exceeded',
    })
    expect(await ask('plain')).to.deep.include({ statusCode: 429, after: '1' })
    const full = await ask('full')
    expect(full).to.deep.include({ statusCode: 503, after: '2', retry: undefined })
    expect(JSON.parse(full.body).error.code).to.equal('server_is_overloaded')
    expect(await ask('full', '/v1', { model: 'many' })).to.deep.include({ statusCode: 503, after: '2' })
  })

  it('reaches a streaming client by the status: the answer has not begun', async () => {
    const ask = await makeAsk()
    const stream = true
    for (const tools of [undefined, [{ type: 'function', name: 'weather' }]]) {
      expect(await ask('limit', '/v1', { stream, tools })).to.deep.include({ statusCode: 429, after: '2' })
      expect(await ask('full', '/v1', { stream, tools })).to.deep.include({ statusCode: 503, after: '2' })
    }
    expect(await ask('limit', '/v1', { stream, store: false })).to.deep.include({ statusCode: 429, after: '2' })
  })

  for (const stream of [false, true]) {
    it(`lets the repeated request run, with its Idempotency-Key, ${stream ? 'streamed' : 'in one piece'}`, async () => {
      const { app } = await makeResponses({}, FILES)
      const headers = { 'idempotency-key': 'k' }
      const payload = { model: 'once', input: 'go', stream }
      const ask = () => app.inject({ method: 'POST', url: '/v1/responses', headers, payload })
      expect((await ask()).statusCode).to.equal(429)
      const [second, third] = [await ask(), await ask()]
      for (const reply of [second, third]) {
        expect([reply.statusCode, reply.body.includes('hello')]).to.deep.equal([200, true])
      }
      expect([second, third].map((reply) => reply.headers['idempotent-replayed'])).to.deep.equal([undefined, 'true'])
    })
  }

  it('is an event of a stream that has begun, and under /compat', async () => {
    const ask = await makeAsk()
    for (const [input, prefix] of [
      ['text', '/v1'],
      ['tool', '/v1'],
      ['limit', '/compat'],
    ] as const) {
      const { statusCode, body } = await ask(input, prefix, { stream: true })
      expect([statusCode, /"type":"response\.failed"/.test(body)], input).to.deep.equal([200, true])
    }
  })

  it('is a failure after a text or a call, and under /compat', async () => {
    const ask = await makeAsk()
    const failed = { statusCode: 500, after: undefined, retry: 'false' }
    expect(await ask('text')).to.deep.include(failed)
    expect(await ask('tool')).to.deep.include(failed)
    const compat = await ask('limit', '/compat')
    expect(compat).to.deep.include({ ...failed, body: '{"detail":"Agent execution failed"}' })
  })

  it('reaches chat clients alike, streamed or not', async () => {
    const { app } = await makeResponses({ adapters: ['ChatCompatApiAdapter'] }, FILES)
    const ask = async (content: string, more: object, prefix = '/v1') => {
      const payload = { model: 'busy', messages: [{ role: 'user', content }], ...more }
      const reply = await app.inject({ method: 'POST', url: `${prefix}/chat/completions`, payload })
      return [reply.statusCode, reply.headers['retry-after'], reply.body.includes('data: {"error"')]
    }
    expect(await ask('limit', {})).to.deep.equal([429, '2', false])
    expect(await ask('limit', { stream: true })).to.deep.equal([429, '2', false])
    expect(await ask('text', { stream: true })).to.deep.equal([200, undefined, true])
    expect(await ask('limit', { stream: true }, '/compat')).to.deep.equal([200, undefined, true])
  })
})
