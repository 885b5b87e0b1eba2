import { setTimeout as wait } from 'node:timers/promises'
import type { EventStream } from '../../event-streams.ts'
import { DONE, EventWriter } from './event-writer.ts'
import { isEnd, type Step } from './output.ts'
import type { StepLog } from './response-run.ts'
import type { ResponseStore, Stored } from './response-store.ts'

/** How many steps are put together before the client has to take them. */
const STEPS_AT_ONCE = 500
/** How often the store is asked about a response that runs in another server. */
const POLL_MS = 250

/**
 * Sends a response as events, from the first or from a later one on, until it has ended or the client has left.
 *
 * @param after number of the last event that the client has
 */
export async function sendSteps(log: StepLog, stream: EventStream, after = 0): Promise<void> {
  const writer = new EventWriter(log.begun, after)
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
    if (hasEnded) return stream.end(rest + DONE)
    await send(stream, rest)
  }
}

function send(stream: EventStream, events: string): void | Promise<void> {
  if (events !== '') return stream.send(events)
}

/** The steps of a response that does not run in this process: it has ended, or another server runs it. */
export function storedLog(store: ResponseStore, id: string, stored: Stored, signal: AbortSignal): StepLog {
  let known: readonly Step[] = stored.steps
  return {
    begun: stored.begun,
    async read(from) {
      while (known.length <= from && !isEnd(known.at(-1)) && !signal.aborted) {
        await wait(POLL_MS)
        const now = await store.get(id)
        if (!now) return []
        known = now.steps
      }
      return known.slice(from)
    },
  }
}
