import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StepLog } from '../../../../durable/runs/read-run.ts'
import { isEnd } from '../../../../durable/runs/steps.ts'
import type { EventStream } from '../../../streams/event-streams.ts'
import type { EventWriter } from './event-writer.ts'

/** Length of the events that are sent in one turn of the event loop. */
const TURN_LENGTH = 64 * 1024

/** Stream as one response sees it. */
interface ResponseStream extends Pick<EventStream, 'isOpen' | 'send'> {
  /** @param done text that ends every stream */
  end(done: string): void
}

/** Sends a response as events, until it has ended or the client has left. The client takes each piece before the next is written. */
export async function sendSteps(log: StepLog, writer: EventWriter, stream: ResponseStream): Promise<void> {
  await send(stream, writer.open())
  for (let from = 0; stream.isOpen; ) {
    const steps = await log.read(from)
    from += steps.length
    await send(stream, writer.write(steps))
    const last = steps.at(-1)
    if (last === undefined || isEnd(last)) return stream.end(writer.done)
  }
}

async function send(stream: ResponseStream, pieces: Iterable<string>): Promise<void> {
  let length = 0
  for (const piece of pieces) {
    const room = stream.send(piece)
    if (room) await room
    if (!stream.isOpen) return
    length += piece.length
    if (length < TURN_LENGTH) continue
    // A client that reads as fast as this makes room at once.
    await nextTurn()
    length = 0
  }
}
