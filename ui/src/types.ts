/** Shapes of the answers to the page's queries, named as GraphQL names them. */
import type { TraceStep } from '../../src/trace/calls/call-tree.ts'
import type { ModelUsage as Usage } from '../../src/trace/calls/describe-event.ts'
import type { RunStatus } from '../../src/trace/run-columns.ts'
import type { MetricsRow } from '../../src/trace/run-index/metrics.ts'
import type { ListedRun as Run } from '../../src/trace/run-index/run-row.ts'

export type { RunStatus }

/** Types of the events that the page shows. */
export const EVENT_TYPES = ['call', 'result', 'exception'] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Tells a run that ended waiting, whether it was continued or not. */
export function hasWaited(status: RunStatus | undefined): boolean {
  return status === 'waiting' || status === 'expired' || status === 'continued'
}

/** State of a call that ended because its run waits, by the status of the run. */
export function describeWaiting(status: RunStatus | undefined): string {
  if (status === 'continued') return 'waited'
  if (status === 'expired') return 'expired'
  return status === 'handed_to_client' ? 'handed to the client' : 'waiting'
}

/** Tokens of a model with their cost in US dollars; null where the price is not known. */
export type ModelUsage = Usage & { readonly cost: number | null }
/** Calls of one tool in a run. */
export interface RunTool {
  readonly name: string
  readonly calls: number
  readonly errors: number
  readonly rejected: number
}

interface Priced {
  readonly models: readonly ModelUsage[]
  readonly cost: number | null
}
export type RunSummary = Omit<Run, 'events' | 'models' | 'results'> & Priced & { readonly tools: readonly RunTool[] }
export type Numbers = Omit<MetricsRow, 'models'> & Priced
export type EventSummary = TraceStep

export interface Problem {
  readonly file: string | null
  readonly line: number | null
  readonly column: number | null
  readonly message: string
  readonly suggestions: readonly string[]
}

export interface ServerInfo {
  readonly version: string
  /** Name among the servers that share the store. */
  readonly name: string
  /** True when the runs of those are listed, too. */
  readonly shares_runs: boolean
  readonly adapters: readonly string[]
  readonly adapters_with_key: readonly string[]
  readonly prices_date: string
  /** Absolute path of the project; null where the page may not know it. */
  readonly project_dir: string | null
  /** True when the page may act, not only look. */
  readonly development: boolean
  /** True where the project has a file of webhooks. */
  readonly has_webhooks: boolean
  /** True when the page may make variants of agents, and when it may send a whole definition. */
  readonly takes_variants: boolean
  readonly takes_definitions: boolean
  /** True when the page may put questions to the terminal. */
  readonly asks_at_terminal: boolean
  /** False at a host name that the server does not know as its own. */
  readonly shows_content: boolean
  /** Scopes of the key that the page sends; empty without one. */
  readonly key_scopes: readonly string[]
  readonly tracing: {
    readonly is_on: boolean
    readonly dropped: number
    readonly problem: string | null
    readonly missing_bytes: number
  }
}

const USAGE_FIELDS = 'model input_tokens output_tokens cached_input_tokens reasoning_tokens cost'
export const RUN_FIELDS = `run_id agent_id user conversation entry_point server agent_version variant status incomplete continues continued_by replays replays_from eval_case parent_run_id parent_run_call_id children started_at duration_ms first_text_ms calls errors tools { name calls errors rejected } input output error
  input_tokens output_tokens models { ${USAGE_FIELDS} } cost`
export const PROBLEM_FIELDS = 'file line column message suggestions'
export const NUMBER_FIELDS = `count errors incomplete rejected p50_ms p95_ms first_text_p50_ms input_tokens output_tokens models { ${USAGE_FIELDS} } cost`
export const EVENT_FIELDS = `agent_id run_id event_type module_id module_class method_name time call_id caller_id parent_call_id parent_run_call_id duration_ms
  kind label error is_aborted is_waiting verdict usage { ${USAGE_FIELDS} context_window }`
