import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { IsProxy } from './trusted-proxies.ts'

export interface SocketLimits {
  /** 0 for no limit, as for the next. */
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** Proxies, whose connections come from many clients, may have as many as there are. */
  readonly isProxy?: IsProxy | undefined
  /** A client that does not read is cut off after this long without progress. */
  readonly writeTimeoutMs: number
  /** Maximum of unread answers, of all connections together. */
  readonly maxUnsentBytes: number
}

const CHECK_MS = 250

/** Limits the connections of a server and their unread data. One timer checks all of them, so a request costs nothing. */
export function limitSockets(server: Server, limits: SocketLimits): void {
  const sockets = new Set<Socket>()
  let clock: NodeJS.Timeout | undefined
  if (limits.maxConnections > 0) server.maxConnections = limits.maxConnections
  limitAddresses(server, limits)
  server.on('connection', (socket: Socket) => {
    if (sockets.has(socket)) return
    sockets.add(socket)
    clock ??= setInterval(() => check(sockets, limits), CHECK_MS).unref()
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      clearInterval(clock)
      clock = undefined
    })
  })
}

function limitAddresses(server: Server, { maxConnectionsPerAddress: max, isProxy }: SocketLimits): void {
  if (max === 0) return
  const counts = new Map<string, number>()
  const counted = new WeakSet<Socket>()
  server.on('connection', (socket: Socket) => {
    // A request that is read again comes by the same connection.
    if (counted.has(socket)) return
    counted.add(socket)
    const address = socket.remoteAddress ?? ''
    if (isProxy?.(address)) return
    const count = (counts.get(address) ?? 0) + 1
    counts.set(address, count)
    socket.once('close', () => {
      const left = (counts.get(address) ?? 1) - 1
      if (left === 0) counts.delete(address)
      else counts.set(address, left)
    })
    if (count > max) socket.destroy()
  })
}

function check(sockets: ReadonlySet<Socket>, { writeTimeoutMs, maxUnsentBytes }: SocketLimits): void {
  let unsentBytes = 0
  for (const socket of sockets) {
    unsentBytes += socket.writableLength
    watchProgress(socket, writeTimeoutMs)
  }
  if (unsentBytes > maxUnsentBytes) cutLargest(sockets, unsentBytes - maxUnsentBytes)
}

/**
 * Node's own timeout of a socket knows of parts of a write that went through, and destroys the socket. It is armed only
 * while something waits: a client that waits for an agent is silent too.
 */
function watchProgress(socket: Socket, writeTimeoutMs: number): void {
  // Told apart from a keep-alive timeout, which is Node's, by a length that none has.
  const ownTimeoutMs = writeTimeoutMs + 0.5
  if (socket.writableLength > 0) {
    if (socket.timeout !== ownTimeoutMs) socket.setTimeout(ownTimeoutMs)
  } else if (socket.timeout === ownTimeoutMs) socket.setTimeout(0)
}

function cutLargest(sockets: ReadonlySet<Socket>, excessBytes: number): void {
  let left = excessBytes
  for (const socket of [...sockets].sort((a, b) => b.writableLength - a.writableLength)) {
    if (left <= 0) return
    left -= socket.writableLength
    socket.destroy()
  }
}
