import type { TracedEvent } from '../files/traced-event.ts'
import type { RunStatus } from '../run-columns.ts'

export const EVENT_TYPES = [
  'call',
  'result',
  'exception',
  'end',
] as const satisfies readonly TracedEvent['event_type'][]
export type EventType = (typeof EVENT_TYPES)[number]

export const RUN_SORTS = ['started_at', 'agent_id', 'status', 'duration_ms', 'tokens'] as const
export type RunSort = (typeof RUN_SORTS)[number]

/** Filter of runs; omitted fields match everything. */
export interface RunFilter {
  readonly agentId?: string | undefined
  /** '' for the runs that belong to none; undefined for those of all. */
  readonly tenant?: string | undefined
  /** Globs of the ids of agents; undefined for those of all. */
  readonly agents?: readonly string[] | undefined
  readonly entryPoint?: string | undefined
  readonly user?: string | undefined
  /** Of a run in {@link RunSummary}, or the id of the first. */
  readonly conversation?: string | undefined
  /** Name of the server that ran it. */
  readonly server?: string | undefined
  readonly agentVersion?: string | undefined
  readonly status?: RunStatus | undefined
  /** Unix seconds, inclusive. */
  readonly since?: number | undefined
  /** Unix seconds, exclusive. */
  readonly until?: number | undefined
  readonly minDurationMs?: number | undefined
  readonly maxDurationMs?: number | undefined
  /** Only runs whose events are in this folder. */
  readonly hasEvents?: boolean | undefined
  /** True: only runs of evals; false: only others; undefined: both. */
  readonly isEval?: boolean | undefined
  /** Only turns of agents: no evals, reruns and calls of single modules. */
  readonly isCounted?: boolean | undefined
  /** Only runs that no other run began, and those whose parent is not known, or no longer. */
  readonly isTopLevel?: boolean | undefined
  /** Only runs in which some call began (every run), returned or failed, or that have ended. */
  readonly eventType?: EventType | undefined
  readonly moduleId?: string | undefined
  readonly methodName?: string | undefined
  readonly toolName?: string | undefined
  /** `<module id>.<method>` */
  readonly step?: string | undefined
  /** Text in the question or answer (the beginning), the error, or an id. */
  readonly text?: string | undefined
}

export interface RunsQuery {
  readonly filter: RunFilter
  readonly first: number
  /** The last run of the previous page: its sort value and id. */
  readonly after: { readonly value: string | number; readonly runId: string } | undefined
  /** Default: `started_at`. */
  readonly sort?: RunSort
  /** Default: the largest, or newest, first. */
  readonly isAscending?: boolean
}

/** Events of one run, in their order. */
export interface EventsQuery {
  readonly runId: string
  /** Number of the event before the first one, counted from 0; -1 for the beginning. */
  readonly after: number
  /** Adds the events of the runs below it, by their time: as `after`, by the ids of those that were read from. */
  readonly below?: Readonly<Record<string, number>> | undefined
  readonly first: number
  readonly callId?: string | undefined
  readonly moduleId?: string | undefined
  readonly methodName?: string | undefined
  readonly eventType?: string | undefined
}

/** Line of a trace. */
export interface RunLine {
  /** Number in its run, from 0. */
  readonly index: number
  readonly line: string
  /** Run below the queried one that it is of; absent for one of the queried run itself. */
  readonly below?: string
}

export interface EventsPage {
  readonly events: readonly RunLine[]
  readonly hasMore: boolean
  /** True for a run that another server has the events of. */
  readonly isElsewhere: boolean
}

/** User of a tenant whose runs are removed. */
export interface ForgetQuery {
  readonly tenant: string
  readonly user: string
  /** Further runs of theirs, which do not name them. */
  readonly runIds: readonly string[]
}

/** The latest events of an agent. */
export interface LogQuery {
  readonly agentId: string
  /** As that of {@link RunFilter}. */
  readonly tenant?: string | undefined
  readonly limit: number
  readonly eventType?: string | undefined
  readonly moduleId?: string | undefined
}

export interface MetricsQuery {
  /** Unix seconds. */
  readonly since: number
  readonly until: number
  readonly bucketSeconds: number
  /** Seconds that the clock of the buckets is ahead of UTC. Default: 0. */
  readonly utcOffset?: number
  readonly agentId?: string | undefined
  /** As that of {@link RunFilter}. */
  readonly tenant?: string | undefined
  /** As those of {@link RunFilter}. */
  readonly agents?: readonly string[] | undefined
  /** Then the numbers are those of the module's calls instead of the runs. */
  readonly moduleId?: string | undefined
}
