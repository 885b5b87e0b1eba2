import type { StepLog } from '../../../../durable/runs/read-run.ts'
import { isEnd } from '../../../../durable/runs/steps.ts'
import type { EventStream } from '../../../streams/event-streams.ts'
import type { EventWriter } from './event-writer.ts'

/** Steps that are put together before the client has to take them. */
const STEPS_AT_ONCE = 500

/** Stream as one response sees it. */
export interface ResponseStream extends Pick<EventStream, 'isOpen' | 'send'> {
  /** Sends the last events; a promise is fulfilled when there is room for those of another response. */
  end(events: string): void | Promise<void>
}

/** Sends a response as events, until it has ended or the client has left. */
export async function sendSteps(log: StepLog, writer: EventWriter, stream: ResponseStream): Promise<void> {
  await send(stream, writer.open())
  for (let from = 0; stream.isOpen; ) {
    const steps = await log.read(from)
    from += steps.length
    const last = steps.at(-1)
    const hasEnded = last === undefined || isEnd(last)
    for (let start = 0; start + STEPS_AT_ONCE < steps.length; start += STEPS_AT_ONCE) {
      await send(stream, writer.write(steps.slice(start, start + STEPS_AT_ONCE)))
    }
    const rest = writer.write(steps.slice(Math.floor(Math.max(steps.length - 1, 0) / STEPS_AT_ONCE) * STEPS_AT_ONCE))
    if (hasEnded) return stream.end(rest + writer.done)
    await send(stream, rest)
  }
}

function send(stream: ResponseStream, events: string): void | Promise<void> {
  if (events !== '') return stream.send(events)
}
