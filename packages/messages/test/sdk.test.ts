import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import type { ServedAdapter } from 'agent-host/testing'
import { READ_FILE, serve } from './support/serve.ts'

describe('@anthropic-ai/sdk', () => {
  let served: ServedAdapter
  let client: Anthropic

  before(async () => {
    served = await serve({
      adapterOptions: { MessagesAdapter: { api_key: 'key-of-messages', aliases: 'claude-*=plain' } },
    })
    const baseURL = `${await served.server.listen()}/anthropic`
    client = new Anthropic({ baseURL, apiKey: 'key-of-messages', maxRetries: 0 })
  })

  after(() => served?.[Symbol.asyncDispose]())

  it('creates a message', async () => {
    const messages = [{ role: 'user' as const, content: 'hello' }]
    const { id, content, usage, ...message } = await client.messages.create({
      model: 'plain',
      max_tokens: 99,
      messages,
    })
    assert.match(id, /^msg_[0-9a-f]{32}$/)
    assert.deepEqual(content, [{ type: 'text', text: 'one two' }])
    assert.deepEqual(
      { ...usage },
      { input_tokens: 6, output_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 4 },
    )
    const { model, role, stop_reason } = message
    assert.deepEqual([model, role, stop_reason], ['plain', 'assistant', 'end_turn'])
  })

  it('streams a message, and its request has an id', async () => {
    const stream = client.messages.stream({
      model: 'claude-any-model',
      max_tokens: 99,
      messages: [{ role: 'user', content: 'hello' }],
    })
    const texts: string[] = []
    stream.on('text', (text) => texts.push(text))
    const message = await stream.finalMessage()
    assert.deepEqual([texts.join(''), message.model, message.stop_reason], ['one two', 'claude-any-model', 'end_turn'])
    assert.equal(message.usage.output_tokens, 2)
    assert.equal(typeof stream.request_id, 'string')
  })

  for (const isStreamed of [false, true]) {
    it(`runs a tool of the client${isStreamed ? ', streamed' : ''}`, async () => {
      const ask = (messages: Anthropic.MessageParam[]) => {
        const body = { model: 'reader', max_tokens: 99, messages, tools: [READ_FILE] }
        return isStreamed ? client.messages.stream(body).finalMessage() : client.messages.create(body)
      }
      const question = { role: 'user' as const, content: 'What is in a.txt?' }
      const first = await ask([question])
      assert.equal(first.stop_reason, 'tool_use')
      assert.deepEqual(
        first.content.map(({ type }) => type),
        ['text', 'tool_use'],
      )
      const call = first.content.find((block) => block.type === 'tool_use')
      assert.deepEqual(call?.input, { path: 'a.txt' })
      const result = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: 'A' }
      const second = await ask([
        question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result] },
      ])
      assert.deepEqual(second.content, [{ type: 'text', text: 'It says A.' }])
    })
  }

  it('counts tokens, as an estimate', async () => {
    const count = async (content: string) => {
      const { data, response } = await client.messages
        .countTokens({ model: 'plain', messages: [{ role: 'user', content }] })
        .withResponse()
      assert.equal(response.headers.get('x-estimated'), 'true')
      return data.input_tokens
    }
    const few = await count('hello, hello')
    assert.ok(few > 2 && few < 30)
    assert.equal(await count(`hello, hello${'語'.repeat(40)}`), few + 30, 'four bytes a token')
  })

  it('counts tokens by the model of the agent, and estimates where that fails', async () => {
    const count = async (content: string) => {
      const body = {
        model: 'mirror',
        system: 'Be brief.',
        tools: [READ_FILE],
        messages: [{ role: 'user' as const, content }],
      }
      const { data, response } = await client.messages.countTokens(body).withResponse()
      return [data.input_tokens, response.headers.get('x-estimated')]
    }
    assert.deepEqual(await count('hello'), [2001, null])
    assert.equal((await count('away'))[1], 'true')
  })

  it('lists models and retrieves one', async () => {
    const ids: string[] = []
    for await (const { id } of client.models.list()) ids.push(id)
    assert.ok(ids.includes('plain') && ids.includes('claude-*'))
    assert.deepEqual(
      { ...(await client.models.retrieve('claude-sonnet')) },
      {
        type: 'model',
        id: 'claude-sonnet',
        display_name: 'Agent plain',
        created_at: '1970-01-01T00:00:00Z',
      },
    )
  })

  it('knows errors by their class', async () => {
    const ask = (model: string, more: object = {}) =>
      client.messages.create({ model, max_tokens: 99, messages: [{ role: 'user', content: 'hello' }], ...more })
    await assert.rejects(ask('nobody'), Anthropic.NotFoundError)
    await assert.rejects(ask('plain', { max_tokens: 0 }), Anthropic.BadRequestError)
    await assert.rejects(ask('late'), (error: InstanceType<typeof Anthropic.APIError>) => {
      assert.deepEqual([error.status, error.type], [500, 'api_error'])
      assert.equal(typeof error.requestID, 'string')
      assert.doesNotMatch(error.message, /hidden reason/)
      return true
    })
    const stranger = new Anthropic({ baseURL: client.baseURL, apiKey: 'another-key', maxRetries: 0 })
    await assert.rejects(stranger.models.list(), Anthropic.AuthenticationError)
    const holder = new Anthropic({ baseURL: client.baseURL, apiKey: null, authToken: 'key-of-messages', maxRetries: 0 })
    assert.ok((await holder.models.list()).data.length > 0)
  })
})
