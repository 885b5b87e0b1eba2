import { expect } from 'chai'
import { closeServers, makeServer } from '../support/server.ts'

const FILES = {
  'adapters/logs.ts': `import { ChatMessage, Type } from 'agent-host'
export class LogsAdapter {
  #options
  constructor(options) { this.#options = options }
  adapt(app) {
    const { http } = this.#options
    const schema = { body: Type.Object({ agent: Type.String(), log: Type.Array(ChatMessage) }) }
    app.post('/logs', { schema, ...http.liftDataUrls() }, async ({ body }) => http.readMessages(body.agent, body.log))
  }
}`,
  'modules/eye.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Eye', provides: [TextMessageHandler], attachments: ['image/*'], create: () => ({ async handleText() {} }) })`,
  'agents/eye.yml': 'id: eye\nmodules: [{ id: main, module: eye }]',
  'agents/blind.yml': 'id: blind\nmodules: [{ id: main, module: echo }]',
}
const PICTURE = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }
const CALL = { id: 'c1', function: { name: 'look', arguments: '{"at":"it"}' } }

describe('an adapter reads messages with parts', () => {
  afterEach(closeServers)

  const read = async (agent: string, log: readonly object[]) => {
    const { app } = await makeServer({ adapters: ['adapters.logs.LogsAdapter'] }, FILES)
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/logs', payload: { agent, log } })
    return statusCode === 200 ? JSON.parse(body) : `${statusCode} ${JSON.parse(body).detail}`
  }

  it('with their pictures, calls and results, as the chat adapter does', async () => {
    const log = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Look: ' }, PICTURE] },
      { role: 'assistant', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'c1', content: 'A cat.' },
      { role: 'user', content: [{ type: 'text', text: 'And here? ' }, PICTURE] },
    ]
    const attachments = [{ mediaType: 'image/png', data: 'https://a.example/b.png' }]
    expect(await read('eye', log)).to.deep.equal([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Look: ', attachments },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'look', arguments: { at: 'it' } }] },
      { role: 'tool', content: 'A cat.', toolCallId: 'c1' },
      { role: 'user', content: 'And here? ', attachments },
    ])
  })

  it('and refuses what the agent does not take, and a call without its result', async () => {
    const said = { role: 'user', content: 'hi' }
    const shown = { role: 'user', content: [PICTURE] }
    expect(await read('blind', [shown, said])).to.deep.equal([{ role: 'user', content: '' }, said])
    expect(await read('blind', [said, shown])).to.match(/^400 messages: the last user message has a part of the type/)
    expect(await read('eye', [said, { role: 'assistant', tool_calls: [CALL] }])).to.match(
      /^400 messages\[1\]\.tool_calls/,
    )
    expect(await read('nobody', [shown])).to.match(/^404|^400/)
  })
})
