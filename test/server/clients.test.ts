import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText } from 'ai'
import { expect } from 'chai'
import OpenAI from 'openai'
import { closeServers, makeServer } from '../support/server.ts'

const user = (content: string) => [{ role: 'user' as const, content }]

describe('the chat API with other clients', () => {
  let baseURL: string
  beforeEach(async () => {
    const server = await makeServer({ compatApiKey: 'key-1234' })
    baseURL = `${await server.listen()}/compat`
  })
  afterEach(closeServers)

  describe('openai', () => {
    const client = () => new OpenAI({ baseURL, apiKey: 'key-1234' })

    it('lists, retrieves and completes', async () => {
      const models = await client().models.list()
      expect(models.data.map(({ id }) => id)).to.deep.equal(['desk', 'echo', 'model', 'probe'])
      expect((await client().models.retrieve('echo')).id).to.equal('echo')
      const completion = await client().chat.completions.create({ model: 'desk/sales', messages: user('hi') })
      expect(completion.choices[0]?.message.content).to.equal('sales hi')
    })

    it('streams, with and without its helper', async () => {
      const stream = await client().chat.completions.create({ model: 'echo', messages: user('hi'), stream: true })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).to.equal('hi')
      const options = { model: 'model', messages: user('hi'), stream_options: { include_usage: true } }
      const completion = await client().chat.completions.stream(options).finalChatCompletion()
      expect(completion.choices[0]?.message).to.deep.include({ role: 'assistant', content: 'one two' })
      expect(completion.usage?.total_tokens).to.equal(5)
    })

    it('throws its typed errors, and does not retry a failed agent', async () => {
      let requests = 0
      const counted: typeof fetch = (...args) => {
        requests++
        return fetch(...args)
      }
      const failure = async (model: string, text: string, apiKey = 'key-1234') =>
        new OpenAI({ baseURL, apiKey, fetch: counted }).chat.completions.create({ model, messages: user(text) }).then(
          () => undefined,
          (error: unknown) => error,
        )
      expect(await failure('nobody', 'x')).to.be.instanceOf(OpenAI.BadRequestError)
      expect(await failure('echo', 'x', 'wrong')).to.be.instanceOf(OpenAI.AuthenticationError)
      expect(await failure('probe', 'fail')).to.be.instanceOf(OpenAI.InternalServerError)
      expect(requests).to.equal(3)
      const stream = await client().chat.completions.create({
        model: 'probe',
        messages: user('fail-after'),
        stream: true,
      })
      const read = async () => {
        for await (const _ of stream);
      }
      expect(await read().catch((error: unknown) => error)).to.be.instanceOf(OpenAI.APIError)
    })
  })

  it('LangChain completes and streams', async () => {
    const model = new ChatOpenAI({ model: 'model', apiKey: 'key-1234', configuration: { baseURL } })
    expect((await model.invoke('hi')).content).to.equal('one two')
    let text = ''
    for await (const chunk of await model.stream('hi')) text += chunk.content
    expect(text).to.equal('one two')
  })

  it('AI SDK and LangChain run a failing agent once with the options of their pages, and again without', async () => {
    let requests = 0
    const counted: typeof fetch = (...args) => {
      requests++
      return fetch(...args)
    }
    const requestsOf = async (ask: () => PromiseLike<unknown>) => {
      requests = 0
      await Promise.resolve(ask()).catch(() => {})
      return requests
    }
    const model = createOpenAICompatible({ name: 'agent-host', baseURL, apiKey: 'key-1234', fetch: counted })('probe')
    expect(await requestsOf(() => generateText({ model, prompt: 'fail', maxRetries: 0 }))).to.equal(1)
    expect(await requestsOf(() => generateText({ model, prompt: 'fail', maxRetries: 1 }))).to.equal(2)
    const ofLangChain = (maxRetries: number) =>
      new ChatOpenAI({ model: 'probe', apiKey: 'key-1234', maxRetries, configuration: { baseURL, fetch: counted } })
    expect(await requestsOf(() => ofLangChain(0).invoke('fail'))).to.equal(1)
    expect(await requestsOf(() => ofLangChain(1).invoke('fail'))).to.equal(2)
  })

  it('the AI SDK completes and streams', async () => {
    const model = createOpenAICompatible({ name: 'agent-host', baseURL, apiKey: 'key-1234', includeUsage: true })(
      'model',
    )
    const { text, usage } = await generateText({ model, prompt: 'hi' })
    expect([text, usage.inputTokens, usage.outputTokens]).to.deep.equal(['one two', 3, 2])
    expect(await streamText({ model, prompt: 'hi' }).text).to.equal('one two')
  })
})
