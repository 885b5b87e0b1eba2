import { strict as assert } from 'node:assert'
import { serveAdapter } from 'agent-host/testing'

describe('AgUiAdapter', () => {
  it('is served', async () => {
    const file = new URL('../src/index.ts', import.meta.url)
    const served = await serveAdapter({ name: 'AgUiAdapter', file }, { files: {} })
    assert.equal((await served.server.app.inject('/ag-ui/none')).statusCode, 404)
    await served[Symbol.asyncDispose]()
  })
})
