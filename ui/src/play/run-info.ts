import { useQuery } from '../api.ts'
import { useLive, useThrottled } from '../live.ts'
import type { RunStatus } from '../types.ts'

const QUERY = `query($id: String!) { run(run_id: $id) {
  status duration_ms input_tokens output_tokens cost
  events(first: 400, method_name: "executeTool") { events { event_type call_id label arguments result exception folded_exception is_aborted is_waiting duration_ms } }
} }`
/** Delay in which changes of a run are collected before it is read again. */
const REFRESH_MS = 300

/** Event of a tool's call. */
export interface ToolEvent {
  readonly event_type: string
  readonly call_id: string
  readonly label: string | null
  readonly arguments: { readonly args: readonly unknown[] } | null
  readonly result: unknown
  readonly exception: string | null
  readonly folded_exception: string | null
  /** The run was stopped. */
  readonly is_aborted: boolean
  /** The call ended because the run waits. */
  readonly is_waiting: boolean
  readonly duration_ms: number | null
}

/** Part of a run that the playground shows below its answer. */
export interface RunInfo {
  readonly status: RunStatus
  readonly duration_ms: number | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost: number | null
  readonly events: { readonly events: readonly ToolEvent[] }
}

/** Reads the trace of a run, repeatedly while it runs; undefined if there is none. */
export function useRunInfo(runId: string): RunInfo | undefined {
  const { data, reload } = useQuery<{ run: RunInfo | null }>(QUERY, { id: runId })
  const reloadSoon = useThrottled(reload, REFRESH_MS)
  useLive('runs', (runs) => runs.some(({ run_id }) => run_id === runId) && reloadSoon())
  return data?.run ?? undefined
}
