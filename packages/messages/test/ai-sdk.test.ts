import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import type { ServedAdapter } from 'agent-host/testing'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { serve } from './support/serve.ts'

describe('@ai-sdk/anthropic', () => {
  let served: ServedAdapter
  let anthropic: ReturnType<typeof createAnthropic>

  before(async () => {
    served = await serve({ adapterOptions: { MessagesAdapter: { api_key: 'key-of-messages' } } })
    const baseURL = `${await served.server.listen()}/anthropic/v1`
    anthropic = createAnthropic({ baseURL, apiKey: 'key-of-messages' })
  })

  after(() => served?.[Symbol.asyncDispose]())

  it('generates a text, with its usage', async () => {
    const { text, usage, finishReason } = await generateText({ model: anthropic('plain'), prompt: 'hello' })
    assert.deepEqual([text, usage.outputTokens, finishReason], ['one two', 2, 'stop'])
  })

  it('streams, and runs its own tool in between', async () => {
    const inputSchema = jsonSchema<{ path: string }>({ type: 'object', properties: { path: { type: 'string' } } })
    const read_file = tool({ description: 'Reads a file', inputSchema, execute: ({ path }) => `text of ${path}` })
    const result = streamText({
      model: anthropic('reader'),
      prompt: 'What does it say?',
      tools: { read_file },
      stopWhen: stepCountIs(3),
    })
    const texts: string[] = []
    for await (const text of result.textStream) texts.push(text)
    assert.equal(texts.join(''), 'I read it.It says A.')
    assert.deepEqual((await result.steps)[0]?.toolResults[0]?.output, 'text of a.txt')
  })

  it('knows the status of an error', async () => {
    const error = await generateText({ model: anthropic('nobody'), prompt: 'x', maxRetries: 0 }).catch((error) => error)
    assert.equal(error.statusCode, 404)
  })
})
