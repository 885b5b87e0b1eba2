import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection on which bytes are sent as they are. */
export interface RawConnection {
  readonly socket: Socket
  /** Everything received so far. */
  received(): string
  /** Waits until the server has closed the connection for good. */
  readonly closed: Promise<void>
}

/** Connects without closing the own side when the server closes its. */
export async function connectRaw(url: string, text: string, { reads = true } = {}): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let received = ''
  if (reads) socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk))
  else socket.pause()
  socket.on('error', () => {})
  // Not `once` of events: it fails with the errors of a connection that is reset.
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await once(socket, 'connect')
  socket.write(text)
  return { socket, received: () => received, closed }
}

/** A POST of JSON as it goes over the wire. */
export function rawPost(path: string, body: unknown, head = 'Host: localhost'): string {
  const text = JSON.stringify(body)
  return `POST ${path} HTTP/1.1\r\n${head}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}
