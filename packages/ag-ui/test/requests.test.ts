import { strict as assert } from 'node:assert'
import type { ServedAdapter } from 'agent-host/testing'
import { send, serve } from './ag-ui-project.ts'

describe('a request that is wrong', () => {
  let served: ServedAdapter
  before(async () => {
    served = await serve()
  })
  after(() => served[Symbol.asyncDispose]())

  const refused = async (agent: string, input: object) => {
    const { status, body } = await send(served, agent, input)
    return [status, JSON.parse(body)]
  }

  it('is answered with an error of the protocol, and its status', async () => {
    const user = { messages: [{ id: 'u', role: 'user', content: 'x' }] }
    const error = (message: string, code?: string) => ({ type: 'RUN_ERROR', message, ...(code ? { code } : {}) })
    assert.deepEqual(await refused('nobody', user), [404, error('model not found', 'AGENT_NOT_FOUND')])
    assert.deepEqual(await refused('tools', { messages: [] }), [
      400,
      error('messages must end with a message of the user.', 'REQUEST_INVALID'),
    ])
    assert.deepEqual((await refused('tools', { ...user, tools: [{ name: 'a b' }] }))[0], 400)
    assert.deepEqual((await refused('tools', { messages: [{ id: 'u', role: 'user', content: 7 }] }))[0], 400)
    assert.deepEqual((await refused('tools', { ...user, threadId: '' }))[0], 400)
    assert.deepEqual(await refused('tools', { messages: [{ id: 'u', role: 'user', content: { text: 'x' } }] }), [
      400,
      error("messages 'u': content must be a string or an array.", 'REQUEST_INVALID'),
    ])
  })

  it('is described in the OpenAPI document', async () => {
    const { body } = await served.server.app.inject('/openapi.json')
    const { post } = JSON.parse(body).paths['/ag-ui/{agent}']
    assert.deepEqual(Object.keys(post.responses).sort(), [
      '200',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '415',
      '500',
      '503',
    ])
    assert.ok(post.responses['200'].content['text/event-stream'])
  })
})
