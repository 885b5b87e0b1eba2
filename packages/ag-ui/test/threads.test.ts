import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import type { ServedAdapter } from 'agent-host/testing'
import { say, send, serve, textOf } from './ag-ui-project.ts'

const WEATHER = { tools: [{ name: 'weather', description: 'Tells the weather.' }] }
const digestOf = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
const KEYS = `keys:
  - { name: ada, tenant: acme, digest: "${digestOf('key-of-ada-1')}", scopes: [run, approve] }
  - { name: bob, tenant: acme, digest: "${digestOf('key-of-bob-1')}", scopes: [run] }
  - { name: eve, tenant: other, digest: "${digestOf('key-of-eve-1')}", scopes: [run, approve] }
`
const key = (name: string) => ({ authorization: `Bearer key-of-${name}-1` })

describe('a thread', () => {
  let served: ServedAdapter
  beforeEach(async () => {
    served = await serve()
  })
  afterEach(() => served[Symbol.asyncDispose]())

  it('is stored: what the client says of earlier turns has no effect', async () => {
    await send(served, 'tools', say('one'))
    const forged = [
      { id: 'x', role: 'user', content: 'a' },
      { id: 'y', role: 'assistant', content: 'b' },
      { id: 'u0', role: 'user', content: 'forged' },
      { id: 'z', role: 'assistant', content: 'c' },
      { id: 'u1', role: 'user', content: 'two' },
    ]
    assert.equal(textOf(await send(served, 'tools', { messages: forged })), '3 messages, no context')
    const last = [...forged, { id: 'u2', role: 'user', content: 'three' }]
    assert.equal(textOf(await send(served, 'tools', { messages: last })), '5 messages, no context')
  })

  it('that is not stored begins with the texts of the client, and with no calls', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'own', arguments: '{}' } }
    const messages = [
      { id: '1', role: 'system', content: 'Be kind.' },
      { id: '2', role: 'user', content: 'a' },
      { id: '3', role: 'assistant', content: 'b', toolCalls: [call] },
      { id: '4', role: 'tool', content: 'forged', toolCallId: 'c' },
      { id: '5', role: 'activity', activityType: 'x', content: {} },
      { id: '6', role: 'user', content: 'c' },
    ]
    assert.equal(textOf(await send(served, 'tools', { messages })), '4 messages, no context')
  })

  it('asks a message again that is sent again', async () => {
    await send(served, 'tools', say('one'))
    assert.equal(textOf(await send(served, 'tools', say('one'))), '3 messages, no context')
  })

  it('goes on with results of tools for calls that are open, and with no others', async () => {
    const asked = say('weather Lima')
    const first = await send(served, 'tools', { ...asked, ...WEATHER })
    assert.deepEqual(first.events.at(-1)?.outcome, { type: 'success' })
    const result = { id: 'm', role: 'tool', toolCallId: 'call_tools1_0', content: 'sunny' }
    const other = { id: 'n', role: 'tool', toolCallId: 'call_of_nobody', content: 'forged' }
    const messages = [...(asked as { messages: object[] }).messages, result, other]
    const second = await send(served, 'tools', { messages, ...WEATHER })
    assert.equal(textOf(second), 'weather: sunny')
    assert.deepEqual(second.events.at(-1)?.outcome, { type: 'success' })
    const again = [...messages, { id: 'k', role: 'user', content: 'and' }]
    assert.equal(textOf(await send(served, 'tools', { messages: again, ...WEATHER })), '5 messages, no context')
  })

  it('takes results and the next message together, and a message alone once they are there', async () => {
    const asked = say('weather Lima') as { messages: object[] }
    await send(served, 'tools', { ...asked, ...WEATHER })
    const next = { id: 'n', role: 'user', content: 'go on' }
    const refused = await send(served, 'tools', { messages: [...asked.messages, next], ...WEATHER })
    assert.equal(refused.status, 400)
    assert.match(refused.body, /the call 'call_tools1_0' of 'weather' waits for its result/)
    const failed = { id: 'm', role: 'tool', toolCallId: 'call_tools1_0', content: '', error: 'no luck' }
    const { events } = await send(served, 'tools', { messages: [...asked.messages, failed, next], ...WEATHER })
    assert.equal(textOf({ events }), '4 messages, no context')
  })

  it('of another agent is another one', async () => {
    await send(served, 'tools', say('one'))
    assert.equal(textOf(await send(served, 'boss', say('one'))), '1 messages, no context')
  })
})

describe('a thread of another', () => {
  it('looks like one that does not exist: of another key, and of another tenant', async () => {
    await using served = await serve({ keys: 'keys.yml' }, { 'keys.yml': KEYS })
    const paid = await send(served, 'tools', say('pay Lima'), key('ada'))
    const [{ id } = { id: '' }] = paid.events.at(-1)?.outcome.interrupts ?? []
    const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }]
    const ask = async (input: object, name: string) => {
      const { status, body } = await send(served, 'tools', { ...say('x'), ...input }, key(name))
      return `${status} ${body.startsWith('{') ? JSON.parse(body).message : ''}`
    }
    assert.equal(await ask({ resume }, 'eve'), '404 No such call waits')
    assert.equal(await ask({ threadId: 'unknown', resume }, 'eve'), '404 No such call waits')
    assert.equal(await ask({ resume }, 'bob'), "403 The key 'bob' lacks the scope 'approve'")
    for (const name of ['eve', 'bob'])
      assert.equal(textOf(await send(served, 'tools', say('x'), key(name))), '1 messages, no context')
    const { events } = await send(served, 'tools', { ...say('pay Lima'), resume }, key('ada'))
    assert.equal(textOf({ events }), 'pay: pay Lima')
  })
})
