import type { RunSummary } from '../types.ts'

/** Names of the address, by the names of the filter of the API. */
export const FILTERS: Readonly<Record<string, string>> = {
  agent: 'agent_id',
  entry: 'entry_point',
  server: 'server',
  user: 'user',
  conversation: 'conversation',
  status: 'status',
  type: 'event_type',
  module: 'module_id',
  method: 'method_name',
  tool: 'tool_name',
  version: 'agent_version',
  text: 'text',
  since: 'since',
  until: 'until',
  evals: 'evals',
}

/** Ranges of time that are chosen by name, in seconds until now. */
export const RANGES: Readonly<Record<string, { title: string; seconds: number }>> = {
  '15m': { title: 'Last 15 minutes', seconds: 900 },
  '1h': { title: 'Last hour', seconds: 3600 },
  '24h': { title: 'Last 24 hours', seconds: 86_400 },
  '7d': { title: 'Last 7 days', seconds: 604_800 },
  '30d': { title: 'Last 30 days', seconds: 2_592_000 },
}

export type RunFilter = Readonly<Record<string, string | number | boolean>>
type Query = Readonly<Record<string, string>>

export function readFilter(query: Query): RunFilter {
  const given = Object.entries(FILTERS).flatMap(([name, field]) => {
    const value = query[name]
    if (!value) return []
    return [[field, toFilter(name, value)] as const]
  })
  const range = RANGES[query.range ?? '']
  const filter: RunFilter = Object.fromEntries(given)
  return range && !query.since ? { since: Math.floor(Date.now() / 1000) - range.seconds, ...filter } : filter
}

function toFilter(name: string, value: string): string | number | boolean {
  if (name === 'evals') return true
  return name === 'since' || name === 'until' ? Number(value) : value
}

/** Returns true if a run may belong to the list: conditions that only the server can check count as met. */
export function mayMatch(run: RunSummary, filter: RunFilter): boolean {
  return (
    (filter.agent_id === undefined || run.agent_id === filter.agent_id) &&
    (filter.entry_point === undefined || run.entry_point === filter.entry_point) &&
    (filter.user === undefined || run.user === filter.user) &&
    (filter.conversation === undefined ||
      run.conversation === filter.conversation ||
      run.run_id === filter.conversation) &&
    (filter.server === undefined || run.server === filter.server) &&
    (filter.agent_version === undefined || run.agent_version === filter.agent_version) &&
    (filter.evals === undefined || run.eval_case !== null) &&
    (filter.status === undefined || run.status === filter.status) &&
    (filter.event_type !== 'exception' || run.errors > 0) &&
    (filter.until === undefined || run.started_at < Number(filter.until)) &&
    (filter.since === undefined || run.started_at >= Number(filter.since))
  )
}

/** Current query of the address: typed text arrives a little later, and other fields may have changed by then. */
export function currentQuery(): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(location.hash.split('?')[1] ?? ''))
}
