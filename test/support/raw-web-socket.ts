import { randomBytes } from 'node:crypto'
import { eventually } from './eventually.ts'
import { connectRaw, type RawConnection } from './raw-http.ts'

export interface FrameOptions {
  /** False for a part of a message. */
  readonly isLast?: boolean
  readonly isMasked?: boolean
  /** Bits that an extension has to give a meaning. */
  readonly reserved?: number
  /** Length that the head claims, where it is another. */
  readonly claimedLength?: number
}

export const CONTINUATION = 0x0
export const TEXT = 0x1
export const BINARY = 0x2
export const PING = 0x9

/** A frame of a client (RFC 6455, section 5.2), with whatever mistake the options say. */
export function frame(opcode: number, payload: string | Buffer, options: FrameOptions = {}): Buffer {
  const { isLast = true, isMasked = true, reserved = 0 } = options
  const data = Buffer.from(payload)
  const length = options.claimedLength ?? data.length
  const first = (isLast ? 0x80 : 0) | (reserved << 4) | opcode
  const head = Buffer.alloc(10)
  head.writeUInt8(first, 0)
  head.writeUInt8((isMasked ? 0x80 : 0) | (length < 126 ? length : length < 0x10000 ? 126 : 127), 1)
  if (length >= 0x10000) head.writeBigUInt64BE(BigInt(length), 2)
  else if (length >= 126) head.writeUInt16BE(length, 2)
  const headLength = length < 126 ? 2 : length < 0x10000 ? 4 : 10
  const mask = Buffer.alloc(isMasked ? 4 : 0)
  return Buffer.concat([head.subarray(0, headLength), mask, data])
}

/** Head of a request to upgrade. */
export function upgradeRequest(headers: Readonly<Record<string, string>> = {}, path = '/v1/responses'): string {
  const all = {
    Host: 'localhost',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Opens a WebSocket on which bytes are sent as they are. */
export async function openRawWebSocket(url: string, headers: Readonly<Record<string, string>> = {}) {
  const connection = await connectRaw(url, upgradeRequest(headers))
  await eventually(() => {
    if (!connection.received().includes('\r\n\r\n')) throw new Error('There is no answer yet.')
  })
  return connection
}

/** Code of the close frame that the server has sent; undefined when it has sent none. */
export function closeCodeOf(connection: RawConnection): number | undefined {
  const received = Buffer.from(connection.received(), 'latin1')
  let at = received.indexOf('\r\n\r\n') + 4
  while (at < received.length) {
    const length = (received[at + 1] ?? 0) & 0x7f
    const headLength = length < 126 ? 2 : length === 126 ? 4 : 10
    const size =
      length < 126 ? length : length === 126 ? received.readUInt16BE(at + 2) : Number(received.readBigUInt64BE(at + 2))
    if (received[at] === 0x88) return received.readUInt16BE(at + headLength)
    at += headLength + size
  }
  return undefined
}
