import type { FastifyReply } from 'fastify'
import { type AgentHost, START_MADE } from '../../host/host.ts'
import type { RunHandle, Turn } from '../../run/turn.ts'
import { CLIENT_HAS_LEFT, type LoggedRequest, logLeaving, noteAgent } from '../monitoring/request-log.ts'
import { logFailureInside } from '../replies/error-replies.ts'
import type { EventStream, EventStreamOptions, EventStreams } from './event-streams.ts'

/** Answer that is sent as a stream of events. */
export interface StreamedAnswer extends EventStreamOptions {
  /** Sends the whole answer, its last frame included. */
  readonly send: (stream: EventStream) => Promise<void>
  /** Last frame of an answer that fails after its head was sent. */
  readonly failure: (error: unknown) => string
}

/**
 * Starts a turn for the client of a request, and aborts it when that client leaves.
 *
 * @throws HostError `AGENT_NOT_FOUND`, `OVERLOADED`, `SHUTTING_DOWN`: before a head is sent, so that they are answered with their status
 */
export function startTurn(reply: FastifyReply, host: AgentHost, name: string, turn: Turn): RunHandle {
  const handle = host[START_MADE](name, turn)
  noteAgent(reply.request, name)
  whenClientLeaves(reply, (reason) => handle.abort(reason))
  return handle
}

/**
 * Calls back when the client leaves before it has its answer; at once when it has left already.
 *
 * `request.signal` will not do: it aborts for every POST once the body is read. A client that left is a connection that
 * closed before the answer was written.
 */
export function whenClientLeaves(reply: FastifyReply, onLeave: (reason: Error) => void): void {
  const { raw } = reply
  const check = () => {
    if (raw.writableFinished) return
    logLeaving(reply)
    onLeave(new Error(CLIENT_HAS_LEFT))
  }
  if (raw.destroyed) check()
  else raw.once('close', check)
}

/** Signal that aborts when the client leaves before it has its answer. */
export function signalOfLeaving(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController()
  whenClientLeaves(reply, (reason) => leaving.abort(reason))
  return leaving.signal
}

/** Answers with a stream of events, which always ends with a last frame of its protocol. */
export async function streamAnswer(
  request: LoggedRequest,
  reply: FastifyReply,
  streams: EventStreams,
  answer: StreamedAnswer,
): Promise<never> {
  const stream = streams.open(reply, answer)
  try {
    await answer.send(stream)
  } catch (error) {
    logFailureInside(error, request)
    stream.end(answer.failure(error))
  }
  return reply
}
