import { strict as assert } from 'node:assert'
import { serveAdapter } from 'agent-host/testing'

describe('MessagesAdapter', () => {
  it('is served', async () => {
    const file = new URL('../src/index.ts', import.meta.url)
    const served = await serveAdapter({ name: 'MessagesAdapter', file }, { files: {} })
    assert.equal((await served.server.app.inject('/anthropic/v1/none')).statusCode, 404)
    await served[Symbol.asyncDispose]()
  })
})
