import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Server as SocketServer } from 'node:net'
import { expect } from 'chai'
import { limitBody } from '../../src/proxy/guarded-fetch.ts'

describe('limitBody', () => {
  const servers: (Server | SocketServer)[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
  })

  /** Reads an answer of this type with these pieces, of at most 1,000 bytes. */
  async function read(type: string, pieces: readonly string[]): Promise<string> {
    const server = createServer(async (_request, response) => {
      response.writeHead(200, { 'content-type': type })
      for (const piece of pieces) {
        response.write(piece)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      response.end()
    }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    const response = limitBody(await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), 1000)
    return response.text().catch((error: Error) => error.message)
  }

  it('limits the body of an answer', async () => {
    expect(await read('application/json', ['x'.repeat(900)])).to.have.length(900)
    expect(await read('application/json', Array(3).fill('x'.repeat(400)))).to.match(/the server answered more than/)
  })

  it('limits each event of a stream, but not the stream', async () => {
    const event = `data: ${'x'.repeat(400)}\n\n`
    expect(await read('text/event-stream', Array(10).fill(event))).to.have.length(10 * event.length)
    expect(await read('text/event-stream', [event, ...Array(10).fill('x'.repeat(200))])).to.match(/more than/)
  })
  it('takes any words and number of a status that fetch takes', async () => {
    for (const [line, status] of [
      ['429 请求过多', 429],
      ['200 成功', 200],
      ['999 Request denied', 599],
    ] as const) {
      const server = createSocketServer((socket) => {
        socket.once('data', () => socket.end(`HTTP/1.1 ${line}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi`))
      }).listen(0, '127.0.0.1')
      servers.push(server)
      await once(server, 'listening')
      const response = limitBody(await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), 1000)
      expect([response.status, await response.text()]).to.deep.equal([status, 'hi'])
    }
  })
})
