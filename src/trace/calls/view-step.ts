import { isWaitingResult } from '../../run/waiting/waits-for.ts'
import type { TracedEvent } from '../files/traced-event.ts'
import type { TraceStep } from './call-tree.ts'
import { errorOf, isAborted, kindOf, labelOf, usageOf } from './describe-event.ts'

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
