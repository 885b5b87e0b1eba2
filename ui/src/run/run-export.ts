import { ask } from '../api.ts'
import { saveFile } from '../save-file.ts'
import { saveTape } from '../save-tape.ts'
import type { RunSummary } from '../types.ts'

const QUERY = `query($id: String!, $after: String) { run(run_id: $id) { events(first: 1000, after: $after) { cursor has_more events {
  agent_id event_name event_type module_id module_class method_name time call_id caller_id arguments result exception
  run_id parent_call_id entry_point duration_ms
} } } }`

interface Page {
  readonly run: {
    readonly events: { readonly cursor: string | null; readonly has_more: boolean; readonly events: readonly object[] }
  } | null
}

/** Saves the tape of a run; without one its trace. */
export async function exportRun(run: RunSummary, hasTape: boolean): Promise<void> {
  if (hasTape) await saveTape(run.run_id, `${run.agent_id}-${run.run_id}.jsonl.gz`)
  else await exportTrace(run)
}

/** Saves a run as JSON lines, as they stand in the trace file. */
async function exportTrace({ run_id: id, agent_id }: RunSummary): Promise<void> {
  const lines: string[] = []
  let after: string | null = null
  for (let isMore = true; isMore; ) {
    const { run }: Page = await ask<Page>(QUERY, { id, after })
    lines.push(...(run?.events.events ?? []).map((event) => JSON.stringify(event)))
    after = run?.events.cursor ?? null
    isMore = run?.events.has_more ?? false
  }
  saveFile(`${agent_id}-${id}.jsonl`, `${lines.join('\n')}\n`, 'application/jsonl')
}
