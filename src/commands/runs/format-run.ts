import type { Call, CallTree } from '../../trace/call-tree.ts'
import type { RunSummary } from '../../trace/run-summary.ts'

/** `example` or `desk/billing`. */
export function nameTarget({ agent_id, entry_point }: RunSummary): string {
  return entry_point === '__entry__' || entry_point === '' ? agent_id : `${agent_id}/${entry_point}`
}

/** One line: id, when, whom, how it ended, how long, how many calls, and what was asked. */
export function formatRun(run: RunSummary, width: number): string {
  const columns = [
    run.run_id,
    new Date(run.started_at * 1000).toISOString().slice(0, 19).replace('T', ' '),
    nameTarget(run).padEnd(16),
    run.status.padEnd(11),
    formatMs(run.duration_ms).padStart(9),
    `${run.calls} calls`.padStart(10),
  ]
  const said = run.error ?? run.input
  const line = `${columns.join('  ')}  ${oneLine(said)}`
  return line.length > width ? `${line.slice(0, width - 1)}…` : line
}

/** The calls of a run, each below who made it. */
export function formatTree(tree: CallTree, showText: (call: Call) => string): string[] {
  return tree.roots.flatMap((root) => formatCall(root, '', '', showText))
}

function formatCall(call: Call, lead: string, below: string, showText: (call: Call) => string): string[] {
  const state = call.status === 'running' ? 'running' : formatMs(call.durationMs ?? null)
  const mark = call.status === 'failed' ? '✗ ' : ''
  const own = `${lead}${mark}${call.moduleId}.${showText(call)}  ${state}`
  const children = call.children.flatMap((child, index) => {
    const isLast = index === call.children.length - 1
    return formatCall(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, showText)
  })
  return [own, ...children]
}

export function formatMs(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
  return `${(ms / 1000).toFixed(2)} s`
}

/** What agents say may hold anything: nothing of it moves the cursor of a terminal or colours it. */
export function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\p{Cc}/gu, '\ufffd')
    .trim()
}
