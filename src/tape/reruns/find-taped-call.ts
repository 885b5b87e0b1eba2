import type { TracedEvent } from '../../trace/files/traced-event.ts'
import type { TapedCall, TapedRun } from '../file/read-tape.ts'

/** Clocks of trace and tape are rounded (seconds). */
const TOLERANCE = 0.001

type Step = Pick<
  TracedEvent,
  'event_type' | 'call_id' | 'caller_id' | 'module_id' | 'method_name' | 'time' | 'arguments'
>

/**
 * Finds the call of a tape that a trace shows: both have the calls of a method in the same order, but a call that was held before
 * it reached its module is on no tape.
 *
 * @param events of the calls of its module and method, in their order
 */
export function findTapedCall(
  { turn, calls }: TapedRun,
  events: readonly Step[],
  callId: string,
): TapedCall | undefined {
  const ends = new Map(events.flatMap((event) => (event.event_type === 'call' ? [] : [[event.call_id, event.time]])))
  const traced = events.filter(({ event_type }) => event_type === 'call')
  const left = new Set(calls)
  for (const step of traced) {
    const until = (ends.get(step.call_id) ?? Infinity) + TOLERANCE
    const found = [...left].find(({ line }) => {
      const time = turn.started_at + line.ms / 1000
      return isSame(line, step) && time >= step.time - TOLERANCE && time <= until
    })
    if (step.call_id === callId) return found
    if (found) left.delete(found)
  }
  return undefined
}

function isSame(line: TapedCall['line'], { caller_id, module_id, method_name, arguments: given }: Step): boolean {
  if (line.module !== module_id || line.caller !== caller_id || line.method !== method_name) return false
  const [tool] = given?.args ?? []
  return method_name !== 'executeTool' || line.arguments[0] === tool
}
