import type { MetricsView } from '../run-index/metrics.ts'
import type { ListedRun } from '../run-index/run-row.ts'
import type { RunRecord } from '../run-index/run-summary.ts'
import type { RunsPage } from '../run-index/runs-table.ts'
import type {
  EventsPage,
  EventsQuery,
  ForgetQuery,
  LogQuery,
  MetricsQuery,
  RunFilter,
  RunsQuery,
} from '../run-index/trace-query.ts'

/** Start data of the worker thread. */
export interface TraceThreadData {
  readonly dir: string
  /** Of the files of one agent. */
  readonly maxBytes: number
  /** True for runs of evals: they have files of their own. */
  readonly isEval: boolean
}

/** The questions that the thread answers, each with its argument and its answer. */
export interface TraceQueries {
  runs: [RunsQuery, RunsPage]
  count: [RunFilter, number]
  run: [string, ListedRun | undefined]
  /** The runs below one, by their beginning. */
  below: [string, ListedRun[]]
  events: [EventsQuery, EventsPage]
  log: [LogQuery, { lines: string[]; hasMore: boolean }]
  neighbours: [string, { previous: string | undefined; next: string | undefined }]
  latestWith: [Pick<RunFilter, 'agentId' | 'tenant' | 'step'>, ListedRun | undefined]
  /** Removes the traces of an agent: of one tenant, or of all. */
  clear: [{ readonly agentId: string; readonly tenant: string | undefined }, undefined]
  /** Ids of the runs that `forget` removes. */
  ofUser: [ForgetQuery, string[]]
  /** Removes the runs of a user. Answers how many had events here; undefined while others have yet to be indexed. */
  forget: [ForgetQuery, number | undefined]
  metrics: [MetricsQuery, MetricsView]
  /** Everything about those of the runs that are known. */
  records: [readonly string[], RunRecord[]]
  /** Adds runs of other servers. */
  putRemote: [readonly RunRecord[], undefined]
  /** Ends the runs of another server that is gone. */
  interruptRemote: [string, undefined]
  /** Bytes that are not indexed yet. */
  missingBytes: [undefined, number]
}

export type TraceQuery = keyof TraceQueries

/** Lines of one agent and tenant, in the order in which they came. */
export interface LinesOfAgent {
  readonly agentId: string
  readonly tenant: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Message to the worker thread. */
export type WorkerRequest =
  | { readonly kind: 'write'; readonly lines: readonly LinesOfAgent[]; readonly count: number }
  | { readonly kind: 'query'; readonly id: number; readonly name: TraceQuery; readonly argument: unknown }
  | { readonly kind: 'watch'; readonly isWatched: boolean }
  | { readonly kind: 'close' }

/** Message from the worker thread, beside its replies. */
export type TraceNews =
  /** A `write` is done; `problem` says why its lines are lost. */
  | { readonly kind: 'written'; readonly count: number; readonly bytes: number; readonly problem: string | undefined }
  | { readonly kind: 'changed'; readonly runs: readonly ListedRun[] }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'skipped'; readonly problem: string }
