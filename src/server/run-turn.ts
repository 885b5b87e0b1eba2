import type { FastifyReply } from 'fastify'
import type { AgentHost } from '../host/host.ts'
import type { RunHandle, Turn } from '../run/turn.ts'

/**
 * Starts a turn whose answer is sent when it is complete, and aborts it when the client leaves before that.
 *
 * `request.signal` will not do: it aborts for every POST once the body is read. A client that left is a connection that
 * closed before the answer was written.
 */
export function startForReply(reply: FastifyReply, host: AgentHost, name: string, turn: Turn): RunHandle {
  const handle = host.start(name, turn)
  const { raw } = reply
  raw.once('close', () => {
    if (!raw.writableFinished) handle.abort(new Error('The client has left.'))
  })
  return handle
}
