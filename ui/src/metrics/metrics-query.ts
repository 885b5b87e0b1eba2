import { useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { useLive, useThrottled } from '../live.ts'
import { NUMBER_FIELDS, type Numbers } from '../types.ts'

/** Ranges of time by the name that the address gives them. */
export const RANGES: Readonly<Record<string, { title: string; seconds: number }>> = {
  '15m': { title: '15 min', seconds: 900 },
  '1h': { title: '1 h', seconds: 3600 },
  '24h': { title: '24 h', seconds: 86_400 },
  '7d': { title: '7 d', seconds: 604_800 },
  '30d': { title: '30 d', seconds: 2_592_000 },
}
const DEFAULT_RANGE = '1h'

/** Selection of the metrics screen, as its address says it. */
export interface MetricsSelection {
  readonly range: string
  readonly agent: string
  readonly module: string
}

export interface VersionNumbers {
  readonly agent_id: string
  /** Empty where the traces do not say. */
  readonly agent_version: string
  readonly first_at: number
  readonly last_at: number
  readonly numbers: Numbers
}

export interface Metrics {
  readonly bucket_seconds: number
  readonly total: Numbers
  readonly points: readonly { readonly time: number; readonly numbers: Numbers }[]
  readonly agents: readonly { readonly agent_id: string; readonly numbers: Numbers }[]
  readonly versions: readonly VersionNumbers[]
  readonly modules: readonly { readonly agent_id: string; readonly module_id: string; readonly numbers: Numbers }[]
  readonly tools: readonly { readonly agent_id: string; readonly tool_name: string; readonly numbers: Numbers }[]
}

const QUERY = `query($since: Float, $until: Float, $agent: String, $module: String, $offset: Float) {
  metrics(since: $since, until: $until, points: 60, agent_id: $agent, module_id: $module, utc_offset: $offset) {
    bucket_seconds total { ${NUMBER_FIELDS} } points { time numbers { ${NUMBER_FIELDS} } }
    agents { agent_id numbers { ${NUMBER_FIELDS} } }
    versions { agent_id agent_version first_at last_at numbers { ${NUMBER_FIELDS} } }
    modules { agent_id module_id numbers { ${NUMBER_FIELDS} } } tools { agent_id tool_name numbers { ${NUMBER_FIELDS} } }
  }
}`

export function readSelection(query: Readonly<Record<string, string>>): MetricsSelection {
  const { range = '', agent = '', module = '' } = query
  return { range: RANGES[range] ? range : DEFAULT_RANGE, agent, module }
}

/** Reads the metrics of a selection, and reads them again while runs come in. */
export function useMetrics({ range, agent, module }: MetricsSelection) {
  const [now, setNow] = useState(() => Date.now() / 1000)
  const refresh = useThrottled(() => setNow(Date.now() / 1000), 2000)
  useLive('runs', refresh)
  useLive('ready', refresh)
  const since = now - (RANGES[range]?.seconds ?? 0)
  const variables = { since, until: now + 1, agent: agent || null, module: module || null, offset: utcOffset() }
  const { data, error } = useQuery<{ metrics: Metrics }>(QUERY, variables)
  return { metrics: data?.metrics, error }
}

const DAY = 86_400
const DAYS_QUERY = `query($since: Float, $points: Int!, $agent: String, $module: String, $offset: Float) {
  metrics(since: $since, points: $points, agent_id: $agent, module_id: $module, utc_offset: $offset) {
    points { time numbers { ${NUMBER_FIELDS} } }
  }
}`

/** Reads the metrics of each day of a selection, newest first; undefined where it is shorter than a few days. */
export function useDays({ range, agent, module }: MetricsSelection): Metrics['points'] | undefined {
  const days = Math.round((RANGES[range]?.seconds ?? 0) / DAY)
  const midnight = new Date()
  midnight.setHours(0, 0, 0, 0)
  const since = midnight.getTime() / 1000 - (days - 1) * DAY
  const variables = {
    since,
    points: Math.max(1, days),
    agent: agent || null,
    module: module || null,
    offset: utcOffset(),
  }
  const { data } = useQuery<{ metrics: Pick<Metrics, 'points'> }>(DAYS_QUERY, variables)
  return days > 1 ? data?.metrics.points.toReversed() : undefined
}

/** Seconds that this clock is ahead of UTC. */
function utcOffset(): number {
  return -new Date().getTimezoneOffset() * 60
}
