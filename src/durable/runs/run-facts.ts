import type { WaitingOptions } from '../../host/waiting-run.ts'
import type { RunEvent } from '../../run/run-event.ts'
import type { LimitHolder } from '../../run/state/run-quota.ts'

/** Adapter of runs that a program has begun. */
export const PROGRAM = 'program'

/** Facts of a run from its beginning on, whichever adapter started it. JSON; with its turn all that any server needs to carry it out. */
export interface RunFacts {
  /** Name of the adapter that started the run. */
  readonly adapter: string
  /** Name of the agent: `<agent>` or `<agent>/<entry point>`. */
  readonly agent: string
  /** Unix seconds. */
  readonly createdAt: number
  /** Run that this one continues; null for one that begins. */
  readonly previousId: string | null
  /** Id of the conversation that the run is added to; left out for none. */
  readonly conversation?: string | undefined
  /** First run of the conversation; left out for that one itself. */
  readonly firstId?: string | undefined
  readonly options: RunOptions
  /** JSON of the adapter, for this run and those that go on from it; not read here. */
  readonly data: unknown
  /** JSON of the adapter for this run alone; left out for none. */
  readonly own?: unknown
  /** Everyone whose limits hold for a run in the background; left out for none. */
  readonly limitedBy?: readonly LimitHolder[] | undefined
  /** True for a run that goes on after decisions, without a request of its client. */
  readonly isUnasked?: boolean | undefined
  /** Name of the key whose limits count for the runs that go on from this one after decisions; left out for none. */
  readonly key?: string | undefined
}

/** Options of a run: what its request asked of the agent, and how it is kept. */
export interface RunOptions extends Omit<WaitingOptions, 'tenant'> {
  /** See `Turn.answersTo`. */
  readonly answersTo?: string | undefined
  /** Leaves out the oldest turns that the limits have no room for. */
  readonly isTruncated?: boolean | undefined
  /** Types of the events that become steps; left out: {@link ANSWER_EVENTS}. */
  readonly shows?: readonly EventType[] | undefined
  /** Seals the reasoning for the client, which keeps it until its next request. */
  readonly sealsReasoning?: boolean | undefined
  /** Allows it to begin again even after it has said or done something. */
  readonly isRestartSafe?: boolean | undefined
}

type EventType = RunEvent['type']

/** Types of the events that an answer consists of. */
export const ANSWER_EVENTS: readonly EventType[] = Object.freeze(['text', 'attachment', 'pending'])
/** Types of the events of the agent's own calls. */
export const CALL_EVENTS: readonly EventType[] = Object.freeze(['tool_call', 'tool_result'])
/** Types of the events of a run that goes on after a decision, for the client that decided. */
export const SHOWN_AFTER_DECISION: readonly EventType[] = Object.freeze([...ANSWER_EVENTS, ...CALL_EVENTS])
/** Types of the events of a run that an adapter of any protocol may show. */
export const ADAPTER_EVENTS: readonly EventType[] = Object.freeze(['reasoning', 'custom', ...SHOWN_AFTER_DECISION])
