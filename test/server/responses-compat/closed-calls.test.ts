import { expect } from 'chai'
import { CLIENT_TOOLS_PROJECT } from '../../support/client-tools.ts'
import { eventually } from '../../support/eventually.ts'
import { makeResponses, RESPONSES_PROJECT, textOf } from '../../support/responses.ts'
import { closeServers } from '../../support/server.ts'

const FILES = {
  ...RESPONSES_PROJECT,
  ...CLIENT_TOOLS_PROJECT,
  'agents/hasty.yml': `${CLIENT_TOOLS_PROJECT['agents/tools.yml'].replace('id: tools', 'id: hasty')}\napproval_ttl: 1`,
}
const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }]
const message = { type: 'message', role: 'user', content: 'never mind' }
const output = { type: 'function_call_output', call_id: 'call_1_0', output: 'sunny' }

describe('calls of a response that can no longer be answered', () => {
  afterEach(closeServers)

  async function makeClosed(model: 'tools' | 'hasty', input: string) {
    const { app, whenEnded } = await makeResponses({}, FILES)
    const post = async (path: string, payload: object) => {
      const reply = await app.inject({ method: 'POST', url: `/compat${path}`, payload })
      return { status: reply.statusCode, body: reply.json() }
    }
    const conversation = (await post('/conversations', {})).body.id
    const { id } = (await post('/responses', { model, input, tools, conversation, background: true })).body
    await whenEnded(id)
    if (model === 'tools') await post(`/responses/${id}/cancel`, {})
    else
      await eventually(async () => {
        const { data } = (await app.inject('/compat/approvals?status=all')).json()
        expect(data).to.containSubset([{ response_id: id, status: 'expired' }])
      }, 10_000)
    const historyOf = async (more: object) => {
      const { status, body } = await post('/responses', { model: 'talk', input: 'history', ...more })
      return status === 200 ? JSON.parse(textOf(body)) : body
    }
    return { post, id, conversation, historyOf }
  }

  it('take no output once the response was cancelled, by its id or its conversation', async () => {
    const { post, id, conversation } = await makeClosed('tools', 'weather Lima')
    for (const place of [{ previous_response_id: id }, { conversation }]) {
      const { status, body } = await post('/responses', { model: 'tools', input: [output], tools, ...place })
      expect([status, body]).to.deep.equal([409, { detail: 'The calls were cancelled: send a message instead' }])
    }
  })

  it('are open again where the run that goes on with them was cancelled before it had done anything', async () => {
    const { app } = await makeResponses({ noWorker: true }, FILES)
    const post = async (payload: object, path = '') => {
      return (await app.inject({ method: 'POST', url: `/compat/responses${path}`, payload })).json()
    }
    const asked = { model: 'tools', tools }
    const { id } = await post({ ...asked, input: 'weather Lima' })
    const next = await post({ ...asked, input: [output], previous_response_id: id, background: true })
    expect(await post({}, `/${next.id}/cancel`)).to.include({ status: 'cancelled' })
    const again = await post({ ...asked, input: [output], previous_response_id: next.id })
    expect(textOf(again)).to.equal('weather: sunny')
  })

  for (const [model, input, call, told] of [
    ['tools', 'weather Lima', 'weather', 'it was cancelled.'],
    ['tools', 'pay Lima', 'pay', 'it was cancelled.'],
    ['hasty', 'pay Lima', 'pay', 'no one decided in time.'],
  ] as const) {
    it(`let a client add items and messages: ${model}, ${input}`, async () => {
      const { post, id, conversation, historyOf } = await makeClosed(model, input)
      const begun = [`user: ${input}`, 'assistant: ', `tool: The call of '${call}' was not executed: ${told}`]
      expect(await historyOf({ previous_response_id: id })).to.deep.equal([...begun, 'user: history'])
      expect(await post(`/conversations/${conversation}/items`, { items: [message] })).to.include({ status: 200 })
      for (let turn = 0; turn < 2; turn++) {
        const history = await historyOf({ conversation })
        expect(history.slice(0, 4)).to.deep.equal([...begun, 'user: never mind'])
      }
    })
  }
})

describe('a call that a person has decided, and that waits beside one of the client', () => {
  afterEach(closeServers)

  it('goes on with a response alone: an output that is added to its conversation would lose the decision', async () => {
    const { app } = await makeResponses({}, FILES)
    const post = async (url: string, payload: object) => {
      const reply = await app.inject({ method: 'POST', url: `/compat${url}`, payload })
      return { status: reply.statusCode, body: reply.json() }
    }
    const { id: conversation } = (await post('/conversations', {})).body
    const say = async (input: unknown) =>
      (await post('/responses', { model: 'tools', tools, conversation, input })).body
    const { output: asked } = await say('weather Lima pay Lima')
    const { id: approval_request_id } = asked.find(({ type }: { type: string }) => type === 'mcp_approval_request')
    await say([{ type: 'mcp_approval_response', approval_request_id, approve: true }])
    const detail = 'A call that a person has decided waits for the output of a tool: send it with the next response'
    const added = await post(`/conversations/${conversation}/items`, { items: [output] })
    expect(added).to.deep.equal({ status: 409, body: { detail } })
    expect(await say([output, { type: 'compaction_trigger' }])).to.deep.equal({ detail })
    expect(textOf(await say([output]))).to.equal('weather: sunny; pay: pay was executed')
  })
})
