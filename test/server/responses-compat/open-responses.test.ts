import { expect } from 'chai'
import { EVENTS, problems, ResponseResource } from '../../support/open-responses-schema.ts'
import { type Json, makeResponses, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

describe('Open Responses', () => {
  afterEach(closeServers)
  const message = (role: string, content: string) => ({ type: 'message', role, content })

  async function expectAnswer(input: Json[], more: object = {}): Promise<Json> {
    const { create, get } = await makeResponses()
    const record = await create(input, more)
    expect(problems(ResponseResource, record)).to.deep.equal([])
    expect(record.status).to.equal('completed')
    expect(record.output).to.not.deep.equal([])
    expect(problems(ResponseResource, await get(record.id))).to.deep.equal([])
    return record
  }

  it('accepts a message, and a system prompt', async () => {
    await expectAnswer([message('user', 'say hello')])
    const record = await expectAnswer([message('system', 'Talk like a pirate.'), message('user', 'history')])
    expect(textOf(record)).to.equal('["system: Talk like a pirate.","user: history"]')
  })

  it('accepts several turns', async () => {
    const turns = [message('user', 'I am Alice.'), message('assistant', 'Hello Alice!'), message('user', 'history')]
    expect(textOf(await expectAnswer(turns))).to.include('assistant: Hello Alice!')
  })

  it('accepts every option', async () => {
    await expectAnswer([message('user', 'say {}')], {
      tools: [{ type: 'function', name: 'f', description: 'F.', parameters: { type: 'object', properties: {} } }],
      tool_choice: 'none',
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_object' } },
      metadata: { a: 'b' },
      truncation: 'auto',
      max_output_tokens: 16,
      max_tool_calls: 1,
      top_logprobs: 0,
      service_tier: 'auto',
      safety_identifier: 's',
      prompt_cache_key: 'p',
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
    })
  })

  for (const [title, input, more] of [
    ['a text', 'say one two', {}],
    ['a failure', 'fail-after', {}],
    ['an answer without text', 'nothing', {}],
    ['the use of tools', 'add', { model: 'tools', include: ['agent.tool_calls'] }],
  ] as const) {
    it(`streams ${title} in events of its schema`, async () => {
      const { stream } = await makeResponses()
      const events = (await stream([message('user', input)], more)).slice(0, -1)
      expect(events.length).to.be.greaterThan(2)
      for (const event of events) expect(problems(EVENTS[event.type], event), event.type).to.deep.equal([])
    })
  }

  it('detects a missing field', async () => {
    const { create, stream } = await makeResponses()
    const { completed_at: _, ...record } = await create('say a')
    expect(problems(ResponseResource, record)).to.not.deep.equal([])
    const { item_id: __, ...delta } = (await stream('say a'))[4]
    expect(problems(EVENTS[delta.type], delta)).to.not.deep.equal([])
  })
})
