import type { AgentEvent } from '../agent/agent-event.ts'
import { writePayload } from './payload.ts'
import type { Redact } from './redact.ts'

/**
 * One event as a line of a trace file, without its newline: JSON with the fields of {@link AgentEvent}. What happened
 * stands before what was said, so that lines can be told apart by their beginning.
 */
export function writeTraceLine(event: AgentEvent, redact: Redact): string {
  const { arguments: given, result, exception, ...facts } = event
  const head = JSON.stringify(facts)
  const args = given === null ? 'null' : `{"args":${writePayload(given.args, redact)}}`
  const thrown = exception === null ? 'null' : writePayload(exception, redact)
  return redact(
    `${head.slice(0, -1)},"arguments":${args},"result":${writePayload(result, redact)},"exception":${thrown}}`,
  )
}

/** The event of a line; undefined for a line that was cut off, or is none of ours. */
export function readTraceLine(line: string): AgentEvent | undefined {
  try {
    const event = JSON.parse(line) as Partial<AgentEvent> | null
    const isEvent = typeof event?.agent_id === 'string' && typeof event.call_id === 'string'
    return isEvent && typeof event.time === 'number' ? (event as AgentEvent) : undefined
  } catch {
    return undefined
  }
}
