import type { AgentEvent } from '../run/calls/call-event.ts'
import type { TraceStep } from './call-tree.ts'
import { isAborted, kindOf, labelOf, usageOf } from './describe-event.ts'

/** An event as a call tree takes it. */
export function viewStep(event: AgentEvent): TraceStep {
  return {
    ...event,
    kind: kindOf(event),
    label: labelOf(event),
    is_aborted: isAborted(event.exception),
    usage: usageOf(event.result),
  }
}
