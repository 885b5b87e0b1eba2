import type { Call, CallTree } from '../../../src/trace/calls/call-tree.ts'
import { formatDuration } from '../../../src/wire/format-duration.ts'
import { STATUS_TEXTS } from '../components/status.tsx'
import { formatTokens } from '../format.ts'
import type { RunSummary } from '../types.ts'
import { findFailure, nameCall } from './trace-rows.ts'

/** Calls above the one that failed, and beside it, are enough to understand it. */
const MAX_CALLS = 40

/** Writes a run as a report in Markdown, to be pasted into an issue. */
export function writeIssueReport(run: RunSummary, tree: CallTree, version: string): string {
  const failure = findFailure(tree)
  return [
    `### ${run.agent_id}: ${run.error ?? STATUS_TEXTS[run.status]}`,
    '',
    `- run \`${run.run_id}\`, ${new Date(run.started_at * 1000).toISOString()}`,
    `- ${STATUS_TEXTS[run.status]} after ${formatDuration(run.duration_ms)}${formatTokens(run) && `, ${formatTokens(run)} tokens`}`,
    `- agent-host ${version}`,
    '',
    '**Question**',
    '',
    quote(run.input),
    ...(run.output === '' ? [] : ['', '**Answer**', '', quote(run.output)]),
    ...(failure ? ['', '**Failed call**', '', `\`${nameCall(failure).name}\``] : []),
    '',
    '**Calls**',
    '',
    '```',
    ...tree.calls
      .filter(({ kind }) => kind !== 'response')
      .slice(0, MAX_CALLS)
      .map(writeCall),
    '```',
    '',
  ].join('\n')
}

function writeCall(call: Call): string {
  const mark = call.status === 'failed' ? '✕ ' : ''
  return `${'  '.repeat(call.depth)}${mark}${nameCall(call).name}  ${formatDuration(call.durationMs)}`
}

function quote(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}
