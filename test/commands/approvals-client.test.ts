import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { ApprovalsClient } from '../../src/commands/approvals/approvals-client.ts'

describe('the client of approvals', () => {
  it('says what to do when the server hides them at its name', async () => {
    const hidden = { object: 'list', data: [{ id: null, agent: 'shop', name: 'pay' }] }
    const server = createServer((_request, response) => response.end(JSON.stringify(hidden))).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const error = await new ApprovalsClient({ url: `http://127.0.0.1:${port}` }).list().catch((thrown) => thrown)
    server.close()
    server.closeAllConnections()
    expect([error.message, error.suggestions]).to.deep.equal([
      'The server does not show approvals at the name 127.0.0.1.',
      ['Start it with --allowed-host 127.0.0.1, or send a key with the scope approve: --api-key.'],
    ])
  })
})
