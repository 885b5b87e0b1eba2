import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { StreamTransport } from './event-streams.ts'

/** `1001`: the server goes away (RFC 6455, section 7.4.1). */
const GOING_AWAY = 1001
const TEXT_FRAME = 0x81
/** A client that does not read gets no answers to its pings beyond this. */
const MAX_UNREAD_BYTES = 64 * 1024

/** Sends each line as a text frame. The frames of one write go out together; those of a server are not masked. */
export function webSocketTransport(socket: WebSocket, raw: Socket): StreamTransport {
  socket.on('ping', (data) => {
    if (raw.writableLength < MAX_UNREAD_BYTES) socket.pong(data)
  })
  return {
    raw,
    write: (lines) => raw.write(toFrames(lines)),
    end: (lines) => {
      raw.write(toFrames(lines))
      socket.close(GOING_AWAY, 'The server shuts down.')
    },
    keepAlive: () => socket.ping(),
  }
}

/** @param lines each ends with a line break, and has none in itself */
function toFrames(lines: string): Buffer {
  const texts = lines.split('\n').slice(0, -1)
  const measured = texts.map((text) => ({ text, length: Buffer.byteLength(text) }))
  const frames = Buffer.allocUnsafe(measured.reduce((sum, { length }) => sum + headLength(length) + length, 0))
  let at = 0
  for (const { text, length } of measured) {
    at = writeHead(frames, at, length)
    at += frames.write(text, at)
  }
  return frames
}

function headLength(length: number): number {
  return length < 126 ? 2 : length < 0x10000 ? 4 : 10
}

/** RFC 6455, section 5.2. */
function writeHead(frames: Buffer, at: number, length: number): number {
  frames[at] = TEXT_FRAME
  if (length < 126) frames[at + 1] = length
  else if (length < 0x10000) {
    frames[at + 1] = 126
    frames.writeUInt16BE(length, at + 2)
  } else {
    frames[at + 1] = 127
    frames.writeBigUInt64BE(BigInt(length), at + 2)
  }
  return at + headLength(length)
}
