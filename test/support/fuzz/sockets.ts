import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { rawPost } from '../raw-http.ts'
import { frame, PING, TEXT, upgradeRequest } from '../raw-web-socket.ts'
import type { FuzzedServer } from './server.ts'

const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array).toString('latin1'))
const whole = fc.constantFrom(
  rawPost('/compat/chat/completions', { model: 'echo', messages: [{ role: 'user', content: 'hi' }] }),
  rawPost('/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }),
  'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'POST /compat/responses HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n5\r\n{"a":\r\nffffffffff\r\n',
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'GET http://elsewhere.test/ HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere.test\r\n\r\n',
  `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
  `${upgradeRequest()}${Buffer.concat([frame(PING, 'x'), frame(TEXT, '{"type":"response.create"}')]).toString('latin1')}`,
  `${upgradeRequest({ Upgrade: 'h2c' }, '/healthz')}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
)
/** A request as it goes over the wire, with bytes put in, cut off, or sent twice. */
const stream = fc.record({ text: whole, at: fc.nat(400), junk: bytes, cut: fc.nat(600), twice: fc.boolean() })

/** Sends what is hardly HTTP, and returns the connections whose answer is a fault, or that the server keeps open. */
export async function fuzzSockets({ url }: FuzzedServer, seed: number, count: number): Promise<unknown[]> {
  const faults: unknown[] = []
  const samples = fc.sample(stream, { numRuns: count, seed })
  for (let first = 0; first < count; first += 50) {
    const batch = samples.slice(first, first + 50)
    await Promise.all(
      batch.map(async (sample) => {
        const sent = toBytes(sample)
        const received = await exchange(url, sent)
        const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0)
        if (status >= 500) faults.push({ seed, sent, received })
      }),
    )
  }
  const alive = await fetch(`${url}/healthz`)
  if (alive.status !== 200) faults.push({ seed, problem: 'the server is no longer well', status: alive.status })
  return faults
}

function toBytes({
  text,
  at,
  junk,
  cut,
  twice,
}: {
  text: string
  at: number
  junk: string
  cut: number
  twice: boolean
}): string {
  const place = at % (text.length + 1)
  const changed = `${text.slice(0, place)}${junk}${text.slice(place)}`
  return (twice ? changed + text : changed).slice(0, cut < 500 ? cut : undefined)
}

/** The client ends its side; the server has to end its own. */
async function exchange(url: string, sent: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk))
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.end(Buffer.from(sent, 'latin1'))
  await closed
  return received
}
