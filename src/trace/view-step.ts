import { isWaitingResult } from '../run/calls/waits-for.ts'
import type { TraceStep } from './call-tree.ts'
import { errorOf, isAborted, kindOf, labelOf, usageOf } from './describe-event.ts'
import type { TracedEvent } from './traced-event.ts'

/** An event as a call tree takes it. */
export function viewStep(event: TracedEvent): TraceStep {
  return {
    ...event,
    kind: kindOf(event),
    label: labelOf(event),
    error: errorOf(event.exception),
    is_aborted: isAborted(event.exception),
    is_waiting: isWaitingResult(event.result),
    usage: usageOf(event.result),
  }
}
