/** What the queries of the page answer. Named as GraphQL names it. */
import type { MetricsRow } from '../../src/trace/metrics.ts'
import type { RunSummary as Run, RunStatus } from '../../src/trace/run-summary.ts'

export type { RunStatus }
export type RunSummary = Omit<Run, 'events'>
export type Numbers = MetricsRow

export interface Problem {
  readonly file: string | null
  readonly line: number | null
  readonly column: number | null
  readonly message: string
  readonly suggestions: readonly string[]
}

export interface ServerFacts {
  readonly version: string
  readonly adapters: readonly string[]
  readonly adapters_with_key: readonly string[]
  readonly tracing: {
    readonly is_on: boolean
    readonly dropped: number
    readonly problem: string | null
    readonly missing_bytes: number
  }
}

export interface EventFacts {
  readonly event_type: 'call' | 'result' | 'exception'
  readonly module_id: string
  readonly module_class: string
  readonly method_name: string
  readonly time: number
  readonly call_id: string
  readonly caller_id: string
  readonly parent_call_id: string | null
  readonly duration_ms: number | null
}

export const RUN_FIELDS =
  'run_id agent_id entry_point status started_at duration_ms first_text_ms calls errors input output error input_tokens output_tokens'
export const PROBLEM_FIELDS = 'file line column message suggestions'
export const NUMBER_FIELDS = 'count errors p50_ms p95_ms first_text_p50_ms input_tokens output_tokens'
export const EVENT_FIELDS =
  'event_type module_id module_class method_name time call_id caller_id parent_call_id duration_ms'
