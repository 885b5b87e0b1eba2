import { createOpenAI } from '@ai-sdk/openai'
import { ChatOpenAI } from '@langchain/openai'
import { Agent, Runner, setTracingDisabled } from '@openai/agents-core'
import { OpenAIProvider } from '@openai/agents-openai'
import { generateText, streamText } from 'ai'
import { expect } from 'chai'
import OpenAI from 'openai'
import { makeResponses, talkState } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const KEY = 'key-1234'

describe('the responses API with other clients', () => {
  let baseURL: string
  beforeEach(async () => {
    const server = await makeResponses({ responsesApiKey: KEY })
    baseURL = `${await server.listen()}/compat`
  })
  afterEach(closeServers)

  describe('openai', () => {
    const client = (apiKey = KEY) => new OpenAI({ baseURL, apiKey })
    const failure = (promise: Promise<unknown>) =>
      promise.then(
        () => undefined,
        (error: unknown) => error,
      )

    it('creates, continues, retrieves and deletes', async () => {
      const { responses } = client()
      const first = await responses.create({ model: 'talk', input: 'say one' })
      expect([first.status, first.output_text]).to.deep.equal(['completed', 'one '])
      const next = await responses.create({ model: 'talk', input: 'history', previous_response_id: first.id })
      expect(JSON.parse(next.output_text)).to.deep.equal(['user: say one', 'assistant: one ', 'user: history'])
      expect((await responses.retrieve(next.id)).output_text).to.equal(next.output_text)
      await responses.delete(first.id)
      expect(await failure(responses.retrieve(first.id))).to.be.instanceOf(OpenAI.NotFoundError)
    })

    it('streams, with and without its helper', async () => {
      const { responses } = client()
      let text = ''
      for await (const event of await responses.create({ model: 'talk', input: 'count 3', stream: true })) {
        if (event.type === 'response.output_text.delta') text += event.delta
      }
      expect(text).to.equal('w0 w1 w2 ')
      const heard: string[] = []
      const stream = responses.stream({ model: 'talk', input: 'say one two' })
      stream.on('response.output_text.delta', ({ delta, snapshot }) => void heard.push(`${delta}|${snapshot}`))
      const final = await stream.finalResponse()
      expect(heard).to.deep.equal(['one |one ', 'two |one two '])
      expect([final.status, final.output_text]).to.deep.equal(['completed', 'one two '])
    })

    it('polls a background response, and cancels it', async () => {
      const { responses } = client()
      let response = await responses.create({ model: 'talk', input: 'count 5', background: true })
      expect(response.status).to.equal('in_progress')
      while (response.status === 'in_progress') response = await responses.retrieve(response.id)
      expect([response.status, response.output_text]).to.deep.equal(['completed', 'w0 w1 w2 w3 w4 '])
      const { id } = await responses.create({ model: 'talk', input: 'hang', background: true })
      expect((await responses.cancel(id)).status).to.equal('cancelled')
    })

    it('resumes a stream where it broke off', async () => {
      const { responses } = client()
      const begun = await responses.create({ model: 'talk', input: 'count 10', background: true, stream: true })
      let [id, last, text] = ['', 0, '']
      for await (const event of begun) {
        if (event.type === 'response.created') id = event.response.id
        last = event.sequence_number
        if (event.type === 'response.output_text.delta') text += event.delta
        if (text.length > 6) break
      }
      for await (const event of await responses.retrieve(id, { stream: true, starting_after: last })) {
        expect(event.sequence_number).to.equal(++last)
        if (event.type === 'response.output_text.delta') text += event.delta
      }
      expect(text).to.equal('w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 ')
      const rejoined = await responses.stream({ response_id: id, starting_after: 0 }).finalResponse()
      expect(rejoined.output_text).to.equal(text)
    })

    it('pages through input items by itself', async () => {
      const { responses } = client()
      const input = Array.from({ length: 45 }, (_, n) => ({ role: 'user' as const, content: `bye ${n}` }))
      const { id } = await responses.create({ model: 'talk', input })
      const read: unknown[] = []
      for await (const item of responses.inputItems.list(id, { order: 'asc' })) read.push(item)
      expect(read).to.have.length(45)
      const texts = read.map((item) => (item as { content: { text: string }[] }).content[0]?.text)
      expect(texts).to.deep.equal(input.map(({ content }) => content))
    })

    it('throws its typed errors, and does not retry a failed agent', async () => {
      const { responses } = client()
      const create = (model: string, input: string) => failure(responses.create({ model, input }))
      expect(await create('nobody', 'x')).to.be.instanceOf(OpenAI.BadRequestError)
      expect(await create('talk', '')).to.be.instanceOf(OpenAI.BadRequestError)
      expect(await failure(client('wrong').responses.retrieve('resp_x'))).to.be.instanceOf(OpenAI.AuthenticationError)
      const { runs } = talkState()
      expect(await create('talk', 'fail')).to.be.instanceOf(OpenAI.InternalServerError)
      expect(talkState().runs).to.equal(runs + 1)
      const { id } = await responses.create({ model: 'talk', input: 'say a' })
      expect(await failure(responses.cancel(id))).to.be.instanceOf(OpenAI.BadRequestError)
    })
  })

  it('LangChain completes, streams and continues', async () => {
    const model = new ChatOpenAI({ model: 'talk', apiKey: KEY, configuration: { baseURL }, useResponsesApi: true })
    const first = await model.invoke('say one two')
    expect(first.text).to.equal('one two ')
    const previous_response_id = first.response_metadata.id as string
    const next = await model.invoke('history', { previous_response_id })
    expect(JSON.parse(next.text)).to.deep.equal(['user: say one two', 'assistant: one two ', 'user: history'])
    let text = ''
    for await (const chunk of await model.stream('say three four')) text += chunk.text
    expect(text).to.equal('three four ')
  })

  it('the AI SDK completes, streams and continues', async () => {
    const model = createOpenAI({ baseURL, apiKey: KEY }).responses('talk')
    const first = await generateText({ model, prompt: 'say one two' })
    expect([first.text, first.usage.inputTokens, first.usage.outputTokens]).to.deep.equal(['one two ', 3, 2])
    const previousResponseId = first.providerMetadata?.openai?.responseId as string
    const next = await generateText({ model, prompt: 'history', providerOptions: { openai: { previousResponseId } } })
    expect(JSON.parse(next.text)).to.deep.equal(['user: say one two', 'assistant: one two ', 'user: history'])
    const { response } = next
    const messages = [...response.messages, { role: 'user' as const, content: 'history' }]
    const streamed = streamText({ model, messages: [{ role: 'user', content: 'say five' }, ...messages] })
    expect(JSON.parse(await streamed.text)).to.have.length(3)
  })

  it('@openai/agents runs an agent, plain and streamed, and continues', async () => {
    setTracingDisabled(true)
    const modelProvider = new OpenAIProvider({ baseURL, apiKey: KEY, useResponses: true })
    const runner = new Runner({ modelProvider })
    const agent = new Agent({ name: 'Talk', model: 'talk', instructions: 'Be brief.' })
    const first = await runner.run(agent, 'say one two')
    expect(first.finalOutput).to.equal('one two ')
    const next = await runner.run(agent, 'history', { previousResponseId: first.lastResponseId as string })
    expect(JSON.parse(next.finalOutput as string)).to.deep.equal([
      'user: say one two',
      'assistant: one two ',
      'user: history',
    ])
    const again = await runner.run(agent, [...first.history, { role: 'user', content: 'history' }])
    expect(JSON.parse(again.finalOutput as string)).to.deep.equal(JSON.parse(next.finalOutput as string))
    const streamed = await runner.run(agent, 'count 3', { stream: true })
    let text = ''
    for await (const chunk of streamed.toTextStream()) text += chunk
    expect([text, streamed.finalOutput]).to.deep.equal(['w0 w1 w2 ', 'w0 w1 w2 '])
  })
})
