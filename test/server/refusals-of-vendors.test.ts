import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { makeResponses } from '../support/responses.ts'
import { closeServers } from '../support/server.ts'

/** A model that refuses for the reason that it is told. */
const FILES = {
  'agents/full.yml': `id: full
modules:
  - { id: llm, module: full }
  - { id: loop, module: orchestrator/tool-loop }`,
  'modules/full.ts': `import { defineModule, LLM, ModelRefused } from 'agent-host'
export default defineModule({ name: 'Full', provides: [LLM], attachments: ['image/*'], create: () => ({
  async *generate({ messages }) {
    const { content: reason, attachments: [attachment] = [] } = messages.at(-1)
    throw new ModelRefused('vendor secret', { reason, ...(attachment ? { attachment, index: 0 } : {}) })
  } }) })`,
}
const TOO_LONG = 'The conversation is too long for the model. Shorten it, and send it again.'
const NO_QUOTA = 'The account at the vendor of the model has no quota left.'
const REASONS = [
  ['context_length_exceeded', 400, 'invalid_request_error', TOO_LONG],
  ['insufficient_quota', 503, 'insufficient_quota', NO_QUOTA],
] as const
const picture = 'data:image/png;base64,AQID'

describe('a refusal that a client can act on', () => {
  afterEach(closeServers)

  const makeAsk = async () => {
    const adapters = ['ResponsesCompatApiAdapter', 'ChatCompatApiAdapter', 'McpApiAdapter']
    const { app } = await makeResponses({ adapters }, FILES)
    const post = async (url: string, payload: object, headers: Record<string, string> = {}) => {
      const { statusCode, headers: sent, body } = await app.inject({ method: 'POST', url, payload, headers })
      return { statusCode, after: sent['retry-after'], retry: sent['x-should-retry'], body }
    }
    const respond = (input: unknown, prefix: string, more: object = {}, headers = {}) =>
      post(`${prefix}/responses`, { model: 'full', input, ...more }, headers)
    const chat = (content: unknown, prefix: string, more: object = {}) =>
      post(`${prefix}/chat/completions`, { model: 'full', messages: [{ role: 'user', content }], ...more })
    return { app, post, respond, chat }
  }

  for (const [code, statusCode, type, message] of REASONS) {
    it(`is a status, a code and a sentence, never with a time to try again: ${code}`, async () => {
      const { respond, chat } = await makeAsk()
      for (const ask of [respond, chat]) {
        const v1 = await ask(code, '/v1')
        expect(v1).to.deep.include({ statusCode, after: undefined, retry: 'false' })
        expect(JSON.parse(v1.body)).to.deep.equal({ error: { message, type, param: null, code }, detail: message })
        const compat = await ask(code, '/compat')
        expect(compat).to.deep.include({ statusCode, after: undefined, retry: 'false' })
        expect(JSON.parse(compat.body)).to.deep.equal({ detail: message })
      }
    })

    it(`has its code in streams of /v1, and the sentence under /compat: ${code}`, async () => {
      const { respond, chat } = await makeAsk()
      for (const ask of [respond, chat]) {
        const { statusCode: status, body } = await ask(code, '/v1', { stream: true })
        expect([status, JSON.parse(body).error.code]).to.deep.equal([statusCode, code])
      }
      const failed = await respond(code, '/compat', { stream: true })
      expect(failed.body).to.contain(`"error":{"code":"server_error","message":"${message}"}`)
      const chunks = await chat(code, '/compat', { stream: true })
      expect(chunks.body).to.contain(`{"error":{"message":"${message}","type":"server_error","code":"server_error"}}`)
    })

    it(`is kept with responses in the background: ${code}`, async () => {
      const { app, respond } = await makeAsk()
      const { id } = JSON.parse((await respond(code, '/v1', { background: true })).body)
      const errorAt = async (prefix: string) => {
        const record = (await app.inject(`${prefix}/responses/${id}`)).json()
        expect(record.status).to.equal('failed')
        return record.error
      }
      expect(await eventually(() => errorAt('/v1'))).to.deep.equal({ code, message })
      expect(await errorAt('/compat')).to.deep.equal({ code: 'server_error', message })
    })

    it(`is a JSON-RPC error with the sentence: ${code}`, async () => {
      const { post } = await makeAsk()
      const params = { name: 'full', arguments: { message: code } }
      const headers = { accept: 'application/json, text/event-stream' }
      const { body } = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)
      expect(body).to.contain(`"error":{"code":-32603,"message":"${message}"}`)
    })
  }

  it('is answered again to a repeated Idempotency-Key, a spent quota is tried again', async () => {
    const { app, post } = await makeAsk()
    for (const [code, statusCode, replayed] of [
      ['context_length_exceeded', 400, 'true'],
      ['insufficient_quota', 503, undefined],
    ] as const) {
      const headers = { 'idempotency-key': code }
      const payload = { model: 'full', input: code }
      await post('/v1/responses', payload, headers)
      const second = await app.inject({ method: 'POST', url: '/v1/responses', payload, headers })
      expect([second.statusCode, second.json().error.code]).to.deep.equal([statusCode, code])
      expect(second.headers['idempotent-replayed']).to.equal(replayed)
    }
  })

  it('names the field of a part that the model does not take', async () => {
    const { respond, chat } = await makeAsk()
    const text = 'attachment_not_taken'
    const message = 'The model does not take image/png. Leave it out.'
    const content = [
      { type: 'input_text', text },
      { type: 'input_image', image_url: picture },
    ]
    const input = [
      { role: 'assistant', content: 'Hm.' },
      { role: 'user', content },
    ]
    for (const more of [{}, { stream: true }]) {
      const reply = await respond(input, '/v1', more)
      expect([reply.statusCode, JSON.parse(reply.body).error]).to.deep.equal([
        400,
        { message, type: 'invalid_request_error', param: 'input[1].content[1]', code: null },
      ])
      const parts = [
        { type: 'text', text },
        { type: 'image_url', image_url: { url: picture } },
      ]
      const answer = await chat(parts, '/v1', more)
      expect([answer.statusCode, JSON.parse(answer.body).error.param]).to.deep.equal([400, 'messages[0].content[1]'])
    }
    const compat = await respond(input, '/compat')
    expect([compat.statusCode, JSON.parse(compat.body)]).to.deep.equal([400, { detail: message }])
  })
})
