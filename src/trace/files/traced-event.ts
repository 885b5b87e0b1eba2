import type { AgentEvent } from '../../run/calls/agent-events.ts'

/** An event as a trace file has it: those of calls, and the end of each run. */
export interface TracedEvent extends Omit<AgentEvent, 'event_type' | 'model' | 'tool_call_id' | 'tenant' | 'origin'> {
  readonly event_type: AgentEvent['event_type'] | 'end'
  /** Left out for a run that belongs to no tenant. */
  readonly tenant?: string
  /** Name of the server, in the event that begins a run. */
  readonly server?: string
  /** Case of an eval that the run is of, in the event that begins it. */
  readonly eval_case?: string
}
