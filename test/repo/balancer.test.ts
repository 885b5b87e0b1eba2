import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'chai'
import { settlesWithin } from '../../src/async.ts'
import { Balancer } from '../support/balancer.ts'
import { upgradeRequest } from '../support/raw-web-socket.ts'

describe('the balancer of the tests', () => {
  it('closes after a WebSocket whose server was gone before the last words of the client', async () => {
    const server = createServer().on('upgrade', (_request, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const balancer = await Balancer.open([`http://127.0.0.1:${(server.address() as AddressInfo).port}`])
    const client = connect({ port: Number(new URL(balancer.url).port), host: '127.0.0.1', allowHalfOpen: true })
    client.write(upgradeRequest())
    await once(client.resume(), 'end')
    await wait(50)
    client.end('the close frame')
    await wait(50)
    expect(await settlesWithin(balancer.close(), 1000)).to.equal(true)
    server.close()
  })
})
