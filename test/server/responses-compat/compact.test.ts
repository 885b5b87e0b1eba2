import { expect } from 'chai'
import OpenAI from 'openai'
import { modelAgent } from '../../support/model-agent.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

/** `scribe` summarizes by naming what its model was given; asked in a run, it says what it was given. */
const PROJECT = {
  ...modelAgent(
    'scribe',
    `    const isSummary = messages[0].role === 'system' && messages[0].content.startsWith('Summarize')
    if (messages.at(-1).content === 'nothing' || messages.at(-1).content === 'user: nothing') return yield { type: 'finish', reason: 'stop' }
    yield { type: 'text', text: isSummary ? '<' + messages[1].content + '>' : JSON.stringify(messages.map(({ role, content }) => role + ': ' + content)) }
    yield { type: 'usage', usage: { inputTokens: 7, outputTokens: 3 } }
    yield { type: 'finish', reason: 'stop' }`,
  ),
}
const INPUT = [
  { role: 'user', content: 'I am Alice.' },
  { role: 'assistant', content: 'Hello.' },
]

describe('POST /responses/compact', () => {
  afterEach(closeServers)
  const make = () => makeResponses({}, PROJECT)

  it("returns the user's messages and a summary, usable as input", async () => {
    const server = await make()
    const client = new OpenAI({ baseURL: `${await server.listen()}/v1`, apiKey: 'none', maxRetries: 0 })
    const compacted = await client.responses.compact({ model: 'scribe', input: INPUT as never })
    expect([compacted.object, compacted.usage.total_tokens]).to.deep.equal(['response.compaction', 10])
    const [message, compaction] = compacted.output as Json[]
    expect({ ...message, id: '' }).to.deep.equal({
      type: 'message',
      id: '',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'I am Alice.' }],
    })
    expect([compaction.type, compaction.id.slice(0, 4)]).to.deep.equal(['compaction', 'cmp_'])
    expect(compaction.encrypted_content).to.match(/^v1\.[\w-]+$/)
    const question = { role: 'user', content: 'Who am I?' } as const
    const next = await client.responses.create({ model: 'scribe', input: [...compacted.output, question] as never })
    expect(JSON.parse(next.output_text)).to.deep.equal([
      'user: I am Alice.',
      'system: Summary of the conversation so far:\n<user: I am Alice.\n\nassistant: Hello.>',
      'user: Who am I?',
    ])
    const again = await client.responses.compact({ model: 'scribe', input: compacted.output as never })
    const last = await client.responses.create({ model: 'scribe', input: [...again.output, question] as never })
    expect(JSON.parse(last.output_text)[1]).to.include(
      'system: Summary of the conversation so far:\n<user: I am Alice.',
    )
    expect((await server.inject('GET', `/${compacted.id}`)).statusCode).to.equal(404)
  })

  it('accepts a stored conversation, and is also served under /compat', async () => {
    const { create, inject } = await make()
    const first = await create('', { model: 'scribe', input: 'hi' })
    const reply = await inject('POST', '/compact', { model: 'scribe', previous_response_id: first.id })
    const next = await create('', { model: 'scribe', input: [...reply.json().output, { role: 'user', content: 'go' }] })
    const summary = `system: Summary of the conversation so far:\n<user: hi\n\nassistant: ${textOf(first)}>`
    expect(JSON.parse(textOf(next))).to.deep.equal(['user: hi', summary, 'user: go'])
  })

  it('rejects requests that it cannot summarize', async () => {
    const { inject } = await make()
    const refused = async (body: object) => {
      const reply = await inject('POST', '/compact', body)
      return [reply.statusCode, reply.json().detail]
    }
    expect((await refused({ input: INPUT }))[0]).to.equal(400)
    expect(await refused({ model: 'scribe' })).to.deep.equal([400, 'input or previous_response_id is required'])
    expect(await refused({ model: 'nobody', input: INPUT })).to.deep.equal([400, 'model not found'])
    expect(await refused({ model: 'talk', input: INPUT })).to.deep.equal([
      400,
      "Agent 'talk' has no model to summarize with",
    ])
    expect((await refused({ model: 'scribe', input: 'nothing' }))[0]).to.equal(500)
    expect(await refused({ model: 'scribe', input: 'x', previous_response_id: 'resp_none' })).to.deep.equal([
      404,
      'Response not found',
    ])
    const forged = [
      { type: 'compaction', encrypted_content: 'gibberish' },
      { role: 'user', content: 'hi' },
    ]
    const reply = await inject('POST', '', { model: 'scribe', input: forged })
    expect([reply.statusCode, reply.json().detail]).to.deep.equal([
      400,
      'input[0].encrypted_content cannot be opened: send what this server gave',
    ])
  })
})
