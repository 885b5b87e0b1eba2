import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** Length of a client's control frame without its data (RFC 6455, section 5.2): two bytes, and a mask of four. */
const CONTROL_HEAD = 6

/**
 * Cuts off a client whose message does not arrive in time. Without an end, its beginning would be kept for as long as the
 * connection is open, and Node's limits end where HTTP does.
 */
export function limitMessageTime(socket: WebSocket, raw: Socket, timeoutMs: number): void {
  let takenBytes = raw.bytesRead
  let timer: NodeJS.Timeout | undefined
  const take = (bytes: number) => {
    takenBytes = Math.min(takenBytes + bytes, raw.bytesRead)
    if (takenBytes < raw.bytesRead) return
    clearTimeout(timer)
    timer = undefined
  }
  raw.on('data', () => {
    if (takenBytes < raw.bytesRead) timer ??= setTimeout(() => socket.terminate(), timeoutMs).unref()
  })
  socket.on('message', () => take(raw.bytesRead))
  // They may stand between the frames of a message, and do not prolong it.
  for (const kind of ['ping', 'pong'] as const) socket.on(kind, (data) => take(CONTROL_HEAD + data.length))
  socket.once('close', () => clearTimeout(timer))
}
